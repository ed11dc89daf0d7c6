"""The door that members call at, over TLS: a real operator beside a real API server, and trainers that are processes here."""

import hashlib
import os
import re
import resource
import socket
import ssl
import subprocess
import sys
import time
import unittest

from api_server import has_ipv6, missing_programs
from local_run import SUSPECT_AFTER_SECONDS, wait_until
from stand_in_cluster import BIN, DOOR_NAME, JOBS, Operator, StandInCluster

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self.openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.crt", "-subj", f"/CN={name}", "-days", "3")
        self.pem = (self.folder / "ca.crt").read_bytes()

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def issue(self, name=DOOR_NAME, days=1):
        """A Secret's files."""
        (self.folder / "names").write_text(f"subjectAltName=DNS:{name}")
        self.openssl("req", *CURVE, "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=door")
        self.openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "tls.crt",
                     "-days", str(days), "-extfile", "names")
        return {name: (self.folder / name).read_bytes() for name in ("tls.crt", "tls.key", "ca.crt")}


def fingerprint(pem):
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.decode())).hexdigest()


def has_been_closed(connection):
    """Waits for it; reads an alert that may come before."""
    connection.settimeout(30)
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


class Door(unittest.TestCase):
    def setUp(self):
        self.cluster = StandInCluster(self)
        self.authority = Authority(self.cluster.folder, "authority")

    def shown_to_a_newcomer(self, operator, ca, host="127.0.0.1"):
        """The fingerprint of the certificate that it believes, or why it does not."""
        context = ssl.create_default_context(cadata=ca.decode())
        try:
            with socket.create_connection((host, operator.door), timeout=10) as plain:
                with context.wrap_socket(plain, server_hostname=DOOR_NAME) as talk:
                    return hashlib.sha256(talk.getpeercert(True)).hexdigest()
        except OSError as error:
            return str(error)

    def train(self):
        self.cluster.start_job("j", steps=1_000_000)
        return self.cluster.wait_for("j", "steps", lambda status: status.get("progress", {}).get("step", 0) > 20)

    def wait_for_more_steps(self):
        step = self.cluster.step("j")
        return self.cluster.wait_for("j", "more steps", lambda now: now["progress"]["step"] > step + 50)

    def environment(self):
        return [{each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
                for pod in self.cluster.pods("j")]

    def suspect_after(self, seconds):
        self.cluster.patch(f"{JOBS}/j", {"spec": {"disruptionPolicy": {"suspectAfterSeconds": seconds}}})

    def expect_made_anew(self, **told):
        """Who cannot come in any more is lost by silence, which is free, and those that follow are told what holds now."""
        before = self.cluster.status("j")
        # Silence counts soon only until both are lost: a busy machine may keep a process silent for three seconds.
        self.suspect_after(3)
        self.cluster.wait_for("j", "the loss of both", lambda now: now["restarts"]["disruption"] >= 2, 180)
        self.suspect_after(SUSPECT_AFTER_SECONDS)
        status = self.cluster.wait_for(
            "j", "a world of others", lambda now: now["attempt"] > before["attempt"]
            and now.get("progress", {}).get("step", 0) > before["progress"]["step"] + 20, 180)
        self.assertEqual(status["restarts"]["application"], 0, status)
        self.assertEqual(status["restarts"]["disruption"], 2, status)
        for variables in self.environment():
            self.assertLessEqual(told.items(), variables.items())

    def test_trainers_join_over_tls_and_a_renewal_disturbs_nobody(self):
        first = self.authority.issue()
        self.cluster.mount_certificate(first)
        operator = Operator(self, self.cluster, "one", 1)
        self.train()
        for variables in self.environment():
            self.assertEqual(variables["RATOON_COORDINATOR_URL"], f"https://{self.cluster.service.address}")
            self.assertEqual(variables["RATOON_COORDINATOR_CA"].encode(), self.authority.pem)
            self.assertEqual(variables["RATOON_COORDINATOR_NAME"], DOOR_NAME)
        for host in ("127.0.0.1", *(["::1"] if has_ipv6() else [])):
            self.assertEqual(self.shown_to_a_newcomer(operator, self.authority.pem, host), fingerprint(first["tls.crt"]), host)

        for _ in range(5):  # on a busy machine a member may give up a call after a second, and call anew
            connections, renewed = self.cluster.service.accepted, self.authority.issue()
            self.cluster.mount_certificate(renewed)
            wait_until(lambda new=renewed: self.shown_to_a_newcomer(operator, self.authority.pem) == fingerprint(new["tls.crt"]),
                       "the renewed certificate", 60)
            status = self.wait_for_more_steps()
            self.assertEqual((status["attempt"], status["restarts"]["disruption"]), (1, 0), status)
            if self.cluster.service.accepted == connections:
                break
        self.assertEqual(self.cluster.service.accepted, connections, "nobody had to call anew")

        # What members would refuse is not shown to them.
        self.cluster.mount_certificate(self.authority.issue("elsewhere.svc"))
        wait_until(lambda: "a renewed certificate is refused" in operator.said(), "the reason", 180)
        self.assertIn("hostname mismatch", operator.said())
        self.assertEqual(self.shown_to_a_newcomer(operator, self.authority.pem), fingerprint(renewed["tls.crt"]))
        self.assertIsNone(operator.process.poll())
        self.assertLess(abs(self.certificate_end(operator) - time.time() - 24 * 3600), 900, "of the certificate that is shown")

    @staticmethod
    def certificate_end(operator):
        metrics = operator.page("/metrics")
        return float(re.search(r"\nratoon_coordinator_certificate_expiry_timestamp_seconds (\S+)", metrics)[1])

    # An alert about the end compares the earliest end of all operators.
    def test_a_standby_knows_the_end_of_the_renewed_certificate(self):
        self.cluster.mount_certificate(self.authority.issue())
        leader = Operator(self, self.cluster, "one", 1, "--leader-elect")
        wait_until(leader.is_leading, "a leader", 180)
        standby = Operator(self, self.cluster, "two", 2, "--leader-elect")
        wait_until(standby.is_ready, "the standby", 180)
        for days in range(2, 7):
            before = self.certificate_end(standby)
            self.cluster.mount_certificate(self.authority.issue(days=days))
            wait_until(lambda known=standby, end=before: self.certificate_end(known) > end + 3600,
                       "the end of the renewed certificate", 180)
            if not standby.is_leading():
                return
            # A leader that stands still for four seconds on a busy machine loses its lease, and ends.
            self.assertEqual(leader.process.wait(180), 1)
            leader.start()
            leader, standby = standby, leader
            wait_until(standby.is_ready, "the standby", 180)
        self.fail("the standby led each time that a renewed certificate was to be known")

    def test_a_trainer_does_not_speak_to_another_one(self):
        files = self.authority.issue()
        self.cluster.mount_certificate(files)
        operator = Operator(self, self.cluster, "one", 1)
        expected = fingerprint(files["tls.crt"])
        wait_until(lambda: self.shown_to_a_newcomer(operator, self.authority.pem) == expected, "the door", 180)
        token = self.cluster.folder / "token"
        token.write_text("secret")
        other = Authority(self.cluster.folder, "other").pem
        for ca, name, why in ((other, DOOR_NAME, "unable to get local issuer certificate"),
                              (self.authority.pem, "other.svc", "hostname mismatch")):
            told = {"RATOON_COORDINATOR_URL": f"https://127.0.0.1:{operator.door}", "RATOON_COORDINATOR_CA": ca.decode(),
                    "RATOON_COORDINATOR_NAME": name, "RATOON_TOKEN_FILE": str(token), "RATOON_JOB_NAMESPACE": "default",
                    "RATOON_JOB_NAME": "j", "RATOON_ROLE": "worker", "LOCAL_RANK": "0", "RATOON_SAVE_FOLDER":
                    str(self.cluster.folder), "RATOON_RUN_NAME": "j"}
            said = self.cluster.folder / f"{why}.out"
            with open(said, "wb") as out:
                trainer = subprocess.Popen([BIN / "counter", "--steps", "10"], env={**os.environ, **told}, stdout=out, stderr=out,
                                           stdin=subprocess.DEVNULL)
            self.addCleanup(trainer.wait)
            self.addCleanup(trainer.kill)
            wait_until(lambda: "is not accepted as the coordinator" in said.read_text(), "a sentence", 180)
            self.assertRegex(said.read_text(), rf"{re.escape(why)}.*expected one for '{re.escape(name)}'.*RATOON_COORDINATOR_CA")
        self.assertEqual(self.heard(operator), 0)

    def test_strangers_who_never_finish_their_handshake_are_few_and_disturb_nobody(self):
        number, kept = 1400, 1024
        least = 2 * number + 200
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, least), hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.cluster.mount_certificate(self.authority.issue())
        operator = Operator(self, self.cluster, "one", 1)
        self.train()
        strangers = []
        for _ in range(number):
            strangers.append(socket.create_connection(("127.0.0.1", operator.door), timeout=10))
            self.addCleanup(strangers[-1].close)
            strangers[-1].sendall(b"\x16\x03\x01\x02\x00")  # the beginning of a greeting
        for stranger in strangers[:number - kept]:
            self.assertTrue(has_been_closed(stranger))
        self.assertRegex(self.shown_to_a_newcomer(operator, self.authority.pem), "^[0-9a-f]{64}$")
        status = self.wait_for_more_steps()
        self.assertEqual((status["attempt"], status["restarts"]["disruption"]), (1, 0), status)
        for stranger in strangers:  # its time to ask is over soon, too
            self.assertTrue(has_been_closed(stranger))

    @staticmethod
    def heard(operator):
        return int(re.search(r"\nratoon_messages_total (\d+)", operator.page("/metrics"))[1])

    def test_another_authority_costs_members_a_restart_once(self):
        self.cluster.mount_certificate(self.authority.issue())
        operator = Operator(self, self.cluster, "one", 1)
        self.train()
        other = Authority(self.cluster.folder, "other")
        self.cluster.mount_certificate(other.issue())
        operator.kill()
        operator.start()
        self.expect_made_anew(RATOON_COORDINATOR_CA=other.pem.decode())

    def test_members_from_before_there_was_tls_are_made_anew(self):
        operator = Operator(self, self.cluster, "one", 1, is_tls=False)
        self.train()
        self.assertNotIn("RATOON_COORDINATOR_CA", self.environment()[0])
        operator.kill()
        operator.is_tls = True
        operator.start()
        self.expect_made_anew(RATOON_COORDINATOR_URL=f"https://{self.cluster.service.address}")

    def test_what_members_would_refuse_is_no_beginning(self):
        def end(*flags):
            done = subprocess.run([BIN / "ratoon-operator", f"--kubeconfig={self.cluster.admin}",
                                   f"--tls-folder={self.cluster.tls}", *flags], capture_output=True, text=True, timeout=180)
            return done.returncode, done.stderr

        self.cluster.mount_certificate(self.authority.issue())
        code, said = end("--advertise-url=http://10.0.0.1:9443")
        self.assertEqual(code, 82)
        self.assertIn("begin --advertise-url with https://", said)
        code, said = end("--advertise-url=https://10.0.0.1:9443")
        self.assertEqual(code, 82)
        self.assertIn("clients would not accept this certificate for '10.0.0.1' (IP address mismatch)", said)
        config = self.cluster.folder / "operator.yaml"
        config.write_text("{apiVersion: operator.ratoon.dev/v1alpha1, kind: OperatorConfig, tls: {secret: s}}")
        code, said = end("--advertise-url=https://10.0.0.1:9443", f"--config={config}")
        self.assertEqual(code, 82)
        self.assertIn("--tls-folder and --tls-secret are both set", said)
        (self.cluster.tls / "ca.crt").unlink()
        code, said = end("--advertise-url=https://10.0.0.1:9443", f"--tls-server-name={DOOR_NAME}")
        self.assertEqual(code, 82)
        self.assertIn("ca.crt", said)


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
