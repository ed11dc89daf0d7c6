"""For each alert: series at which it fires, and series that come close and at which nothing does. Samples are a minute
apart; series that a case does not name are as in HEALTHY."""

import dataclasses

JOB = 'training_namespace="trees",training_job="digits"'
MEMBER = f'{JOB},training_role="worker",index="0",local_rank="0"'
OF_JOB = {"training_namespace": "trees", "training_job": "digits"}
POD = 'namespace="ratoon-system",pod="ratoon-1"'
OF_POD = {"namespace": "ratoon-system"}
STANDBY = 'namespace="ratoon-system",pod="ratoon-2"'
STORE = 's3://bucket/runs'
LAST = 240  # minutes


def steady(value):
    return f"{value}+0x{LAST}"


def growing(by, start=0):
    return f"{start}+{by}x{LAST}"


def jump(at, to, start=0):
    """One value until a minute, and another from then on."""
    return f"{start}+0x{at - 1} {to}+0x{LAST - at}"


HEALTHY = {
    f"ratoon_leading{{{POD}}}": steady(1), f"ratoon_leading{{{STANDBY}}}": steady(0),
    f'ratoon_cache_staleness_seconds{{{POD},resource="pods"}}': steady(0),
    f'ratoon_api_calls_total{{{POD},verb="patch",resource="trainingjobs",code="200"}}': growing(60),
    f'ratoon_api_calls_total{{{POD},verb="patch",resource="trainingjobs",code="409"}}': growing(30),
    f'ratoon_api_calls_total{{{POD},verb="list",resource="pods",code="0"}}': growing(0),
    f"ratoon_reconcile_queue_wait_seconds{{{POD}}}": steady(0), f"ratoon_reconcile_retries_total{{{POD}}}": growing(1),
    f"ratoon_coordinator_certificate_expiry_timestamp_seconds{{{POD}}}": steady(90 * 86400),
    **{f'ratoon_job_phase{{{JOB},phase="{phase}"}}': steady(int(phase == "Running"))
       for phase in ("Pending", "Running", "Recovering", "Suspended", "Succeeded", "Failed")},
    f"ratoon_job_step{{{JOB}}}": growing(100), f"ratoon_job_durable_step{{{JOB}}}": growing(95),
    f"ratoon_job_world_size{{{JOB}}}": steady(4),
    **{f'ratoon_restarts_total{{{JOB},cause="{cause}"}}': steady(0) for cause in ("application", "hung", "disruption")},
    **{f'ratoon_job_ledger_seconds_total{{{JOB},part="{part}"}}': growing(60 * int(part == "useful"))
       for part in ("useful", "recomputed", "waiting_for_capacity", "restarting", "hung", "suspended")},
    # Another job, which waits for a node: that is no fault.
    'ratoon_job_problem{training_namespace="trees",training_job="queued",reason="Unschedulable"}': steady(1),
    f"ratoon_attempt{{{MEMBER}}}": steady(1),
    f"ratoon_missed_saves_total{{{MEMBER}}}": steady(0), f"ratoon_stale_saves_total{{{MEMBER}}}": steady(0),
    f'ratoon_missed_copies_total{{{MEMBER},store="{STORE}"}}': steady(0),
    f'ratoon_rejoins_total{{{MEMBER},cause="checkpoint_unreadable"}}': steady(0),
    f'ratoon_rejoins_total{{{MEMBER},cause="world_changed"}}': growing(1),
    f'ratoon_ledger_seconds_total{{{MEMBER},part="data_wait"}}': growing(6),
}


def phase(name, **others):
    return {f'ratoon_job_phase{{{JOB},phase="{each}"}}': others.get(each, steady(int(each == name)))
            for each in ("Pending", "Running", "Recovering", "Suspended", "Succeeded", "Failed")}


def ledger(**seconds_a_minute):
    return {f'ratoon_job_ledger_seconds_total{{{JOB},part="{part}"}}': growing(seconds_a_minute.get(part, 0))
            for part in ("useful", "recomputed", "waiting_for_capacity", "restarting", "hung", "suspended")}


def restarts(cause, values):
    return {f'ratoon_restarts_total{{{JOB},cause="{cause}"}}': values}


def problem(reason, values):
    """What has no such problem has no such series."""
    return {f'ratoon_job_problem{{{JOB},reason="{reason}"}}': values}


def of_pod(name, values, more=""):
    return {f"ratoon_{name}{{{POD}{more}}}": values}


def of_job(name, values):
    return {f"ratoon_{name}{{{JOB}}}": values}


def of_member(name, values, more=""):
    return {f"ratoon_{name}{{{MEMBER}{more}}}": values}


@dataclasses.dataclass(frozen=True)
class Case:
    alert: str
    fires: dict                # series that differ from HEALTHY; None: it is not there
    at: str                    # when it fires
    labels: dict               # of the alert
    before: str                # when the same series have nothing fire yet
    silent: dict               # series at which nothing fires,
    silent_at: tuple = ("60m", "150m")


NO_LEADING = {f"ratoon_leading{{{POD}}}": None, f"ratoon_leading{{{STANDBY}}}": None}
CASES = [
    Case("RatoonOperatorAbsent", NO_LEADING, "6m", {}, "4m", {f"ratoon_leading{{{STANDBY}}}": None}),
    # One of two installations, and all of them, for hours.
    Case("RatoonOperatorAbsent", {f"ratoon_leading{{{POD}}}": "1+0x59 stale", f"ratoon_leading{{{STANDBY}}}": None,
                                  'ratoon_leading{namespace="elsewhere",pod="ratoon-1"}': steady(1)},
         "66m", OF_POD, "63m", {f"ratoon_leading{{{POD}}}": "1+0x59 stale _x3 1+0x170", f"ratoon_leading{{{STANDBY}}}": None}),
    Case("RatoonOperatorAbsent", {f"ratoon_leading{{{POD}}}": "1+0x59 stale", f"ratoon_leading{{{STANDBY}}}": None},
         "121m", {}, "63m", {f"ratoon_leading{{{STANDBY}}}": steady(1), f"ratoon_leading{{{POD}}}": "1+0x59 stale"}),
    Case("RatoonNoLeader", of_pod("leading", jump(60, 0, 1)), "63m", OF_POD, "61m",
         {**of_pod("leading", jump(60, 0, 1)), f"ratoon_leading{{{STANDBY}}}": jump(61, 1)}),
    Case("RatoonCacheStale", of_pod("cache_staleness_seconds", jump(60, 40), ',resource="pods"'), "63m",
         {**OF_POD, "resource": "pods"}, "61m", of_pod("cache_staleness_seconds", steady(25), ',resource="pods"')),
    Case("RatoonApiCallsFail", of_pod("api_calls_total", growing(20), ',verb="list",resource="pods",code="0"'), "15m",
         OF_POD, "8m", of_pod("api_calls_total", growing(8), ',verb="list",resource="pods",code="0"')),
    Case("RatoonReconcileQueueSlow", of_pod("reconcile_queue_wait_seconds", jump(60, 6)), "66m", OF_POD, "64m",
         of_pod("reconcile_queue_wait_seconds", steady(4))),
    Case("RatoonDecisionsFail", of_pod("reconcile_retries_total", growing(12)), "24m", OF_POD, "8m",
         of_pod("reconcile_retries_total", growing(5))),
    Case("RatoonCertificateExpires", of_pod("coordinator_certificate_expiry_timestamp_seconds", steady(14 * 86400 + 3600)), "61m",
         OF_POD, "59m", of_pod("coordinator_certificate_expiry_timestamp_seconds", steady(15 * 86400))),
    Case("RatoonJobFailed", phase("Failed", Running=jump(60, 0, 1), Failed=jump(60, 1)), "61m", {**OF_JOB, "phase": "Failed"},
         "59m", phase("Succeeded", Running=jump(60, 0, 1), Succeeded=jump(60, 1))),
    # Each of these is told once: not as a job that does not start, has no pods, waits for capacity or makes no step.
    Case("RatoonJobInvalid", {**ledger(restarting=60), **phase("Pending"), **of_job("job_step", steady(0)),
                              **of_job("job_durable_step", steady(0)), **problem("ClaimNotShared", "_x5 1+0x200")},
         "20m", {**OF_JOB, "reason": "ClaimNotShared"}, "6m", problem("ClaimNotShared", "_x59 1 1 stale"),
         silent_at=("60m", "61m", "150m")),
    Case("RatoonJobInvalid", {**problem("TemplateRefused", "_x60 1+0x170"), **problem("PodRefused", "_x60 1+0x170")},
         "80m", {**OF_JOB, "reason": "TemplateRefused"}, "61m", problem("NoScheduler", steady(1))),
    Case("RatoonJobInvalid", {**of_job("job_step", f"0+100x60 6000+0x{LAST - 61}"), **problem("Unreadable", "_x61 1+0x170")},
         "112m", {**OF_JOB, "reason": "Unreadable"}, "62m", problem("Unreadable", "_x59 1 1 stale"),
         silent_at=("60m", "61m", "150m")),
    Case("RatoonPodsRefused", {**ledger(waiting_for_capacity=60), **phase("Recovering"), **problem("PodRefused", steady(1))},
         "24m", {**OF_JOB, "reason": "PodRefused"}, "4m", problem("PodRefused", "_x59 1 1 1 1 stale"),
         silent_at=("60m", "63m", "150m")),
    Case("RatoonJobDoesNotStart", {**ledger(restarting=60), **phase("Pending"), **of_job("job_step", steady(0)),
                                   **of_job("job_durable_step", steady(0)), **of_job("job_world_size", steady(0))},
         "18m", {**OF_JOB, "part": "restarting"}, "9m", ledger(useful=35, restarting=25)),
    Case("RatoonJobWaitsForCapacity", {**ledger(waiting_for_capacity=60), **phase("Recovering")}, "24m",
         {**OF_JOB, "part": "waiting_for_capacity"}, "13m", ledger(useful=35, waiting_for_capacity=25)),
    Case("RatoonNoProgress", of_job("job_step", f"0+100x60 6000+0x{LAST - 61}"), "92m", OF_JOB, "80m",
         # One that reports no steps, one that is suspended.
         {**of_job("job_step", steady(0)), **of_job("job_durable_step", steady(0))}),
    Case("RatoonNoProgress", of_job("job_step", f"0+100x60 6000+0x{LAST - 61}"), "92m", OF_JOB, "80m",
         {**of_job("job_step", f"0+100x60 6000+0x{LAST - 61}"),
          **phase("Suspended", Running=jump(60, 0, 1), Suspended=jump(60, 1))}, silent_at=("60m", "82m", "150m")),
    Case("RatoonCheckpointOld", of_job("job_durable_step", f"0+95x60 5700+0x{LAST - 61}"), "122m", OF_JOB, "110m",
         of_job("job_durable_step", "0+0x20 2000+0x25 4500+0x25 7000+0x25 9500+0x25 12000+0x25 14500+0x25 17000+0x60")),
    Case("RatoonTrainerFails", restarts("application", "0+0x58 1 2 3 3+0x100"), "62m", {**OF_JOB, "cause": "application"}, "59m",
         restarts("application", "0+0x58 1+0x20 2+0x20 3+0x100")),
    Case("RatoonHangs", restarts("hung", jump(60, 1)), "62m", {**OF_JOB, "cause": "hung"}, "59m", restarts("hung", steady(3))),
    Case("RatoonManyLosses", restarts("disruption", f"0+0x50 0+1x12 12+0x{LAST - 64}"), "65m",
         {**OF_JOB, "cause": "disruption"}, "55m", restarts("disruption", f"0+0x50 0+1x7 7+0x{LAST - 60}")),
    Case("RatoonGoodputLow", ledger(useful=25, recomputed=35), "40m", OF_JOB, "25m",
         ledger(useful=40, restarting=20, suspended=600)),
    # A short job that needed long to start, and has succeeded.
    Case("RatoonGoodputLow", ledger(useful=25, recomputed=35), "40m", OF_JOB, "25m",
         {**ledger(), **of_job("job_world_size", "4+0x10 0+0x220"), **phase("Succeeded", Running="1+0x10 0+0x220",
                                                                           Succeeded="0+0x10 1+0x220"),
          f'ratoon_job_ledger_seconds_total{{{JOB},part="restarting"}}': f"0+60x6 360+0x{LAST - 7}",
          f'ratoon_job_ledger_seconds_total{{{JOB},part="useful"}}': f"0+0x6 0+60x4 240+0x{LAST - 12}"},
         ("35m", "45m", "59m", "150m")),
    Case("RatoonMembersUnseen", of_member("attempt", None), "15m", OF_JOB, "8m",
         {**of_member("attempt", None), **of_job("job_world_size", steady(0)), **phase("Suspended")}),
    Case("RatoonSavesFail", of_member("missed_saves_total", jump(60, 1)), "62m", OF_JOB, "59m",
         of_member("missed_saves_total", steady(5))),
    Case("RatoonSavesStale", of_member("stale_saves_total", jump(60, 1)), "62m", OF_JOB, "59m",
         of_member("stale_saves_total", steady(5))),
    Case("RatoonStoreCopiesFail", of_member("missed_copies_total", growing(1), f',store="{STORE}"'), "20m",
         {**OF_JOB, "store": STORE}, "12m", of_member("missed_copies_total", jump(60, 1), f',store="{STORE}"'),
         silent_at=("60m", "70m", "150m")),
    Case("RatoonCheckpointUnreadable", of_member("rejoins_total", jump(60, 1), ',cause="checkpoint_unreadable"'), "62m", OF_JOB,
         "59m", of_member("rejoins_total", steady(1), ',cause="checkpoint_unreadable"'), ("65m", "150m")),
    # The first sample of a process that found the damage at its start is 1 already.
    Case("RatoonCheckpointUnreadable", of_member("rejoins_total", "_x60 1+0x170", ',cause="checkpoint_unreadable"'), "62m",
         OF_JOB, "59m", of_member("rejoins_total", "_x60 0+0x170", ',cause="checkpoint_unreadable"')),
    Case("RatoonDataStarved", of_member("ledger_seconds_total", growing(25), ',part="data_wait"'), "20m", OF_JOB, "14m",
         of_member("ledger_seconds_total", growing(15), ',part="data_wait"')),
]

# increase() extrapolates where samples do not fall on the times of the evaluation: two failures are not three, and ten losses
# not eleven. {alert that does not fire: (series with a sample each seven seconds, when)}
BETWEEN_SAMPLES = {
    "RatoonTrainerFails": (restarts("application", "0+0x500 1+0x9 2+0x900"), ("59m", "60m", "61m", "62m", "65m")),
    "RatoonManyLosses": (restarts("disruption", "0+0x500 0+1x10 10+0x900"), ("60m", "61m", "65m", "80m", "100m")),
}

# A node dies with a member, and half a minute later all train again: alerts are not for that.
ONE_LOSS = {
    **restarts("disruption", jump(60, 1)),
    **phase("Running", Running=f"1+0x59 0 1+0x{LAST - 61}", Recovering=f"0+0x59 1 0+0x{LAST - 61}"),
    **of_job("job_world_size", f"4+0x59 0 4+0x{LAST - 61}"), **of_job("job_step", f"0+100x59 5970 6020+100x{LAST - 61}"),
    f'ratoon_job_ledger_seconds_total{{{JOB},part="restarting"}}': jump(60, 30),
    f'ratoon_job_ledger_seconds_total{{{JOB},part="recomputed"}}': jump(60, 12),
    f"ratoon_attempt{{{MEMBER}}}": f"1+0x58 _ 2+0x{LAST - 60}",
}
