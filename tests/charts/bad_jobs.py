"""TrainingJobs that the API server must refuse, and what it must say of each."""

import copy

GOOD = {
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "good"},
    "spec": {
        "numNodes": 2, "processesPerNode": 2,
        "roles": [{"name": "worker", "template": {
            "metadata": {"labels": {"team": "seeds"}},
            "spec": {"containers": [{"name": "trainer", "image": "digits:1", "command": ["digits"],
                                     "env": [{"name": "LEVEL", "value": "3"}]}],
                     "nodeSelector": {"disk": "fast"}}}}],
        "checkpointPolicy": {"volumeClaimName": "claim", "runName": "first", "intervalSteps": 10, "keepLast": 3},
        "disruptionPolicy": {"heartbeatSeconds": 1, "suspectAfterSeconds": 3, "noticeTaints": ["example.com/going"]},
        "restartPolicy": {"maxRestarts": 3}, "dataPolicy": {"seed": 17, "globalBatchSize": 96},
    },
}
REMOVED = object()


def changed(*changes, job=GOOD):
    """The job with (path, value) changes; a path is "spec.roles.0.name"."""
    job = copy.deepcopy(job)
    for path, value in changes:
        *way, last = path if isinstance(path, tuple) else path.split(".")
        node = job
        for word in way:
            node = node[int(word)] if isinstance(node, list) else node[word]
        key = int(last) if isinstance(node, list) else last
        if value is REMOVED:
            del node[key]
        elif isinstance(node, list) and key == len(node):
            node.append(value)
        else:
            node[key] = value
    return job


ROLE = GOOD["spec"]["roles"][0]
TEMPLATE = "spec.roles.0.template"
POD = f"{TEMPLATE}.spec"
TRAINER = f"{POD}.containers.0"
LABELS = tuple(f"{TEMPLATE}.metadata.labels".split("."))


def second_role(**fields):
    return ("spec.roles.1", {**ROLE, "name": "helper", **fields})


NO_LABEL = "use lower-case letters, digits and '-', begin with a letter"
NO_TAINT = "write example.com/name, without =value and :effect"

# (what is wrong, changes, a part of our own sentence)
OURS = [
    ("a name of 41 characters", [("metadata.name", "a" * 41)], "choose one of at most 40 characters"),
    ("a name with a dot", [("metadata.name", "a.b")], f"the job's name is no DNS label: {NO_LABEL}"),
    ("a name that begins with a digit", [("metadata.name", "1a")], f"the job's name is no DNS label: {NO_LABEL}"),
    ("a role's name in capitals", [("spec.roles.0.name", "Worker")], f"the role's name is no DNS label: {NO_LABEL}"),
    ("a role's name that ends with -", [("spec.roles.0.name", "worker-")], f"the role's name is no DNS label: {NO_LABEL}"),
    ("too many members in two roles", [second_role(replicas=4000), ("spec.numNodes", 97)],
     "lower replicas, numNodes or maxReplicas until all roles together have at most 4096"),
    ("too many processes", [("spec.numNodes", 4096), ("spec.processesPerNode", 17)],
     "until members times processesPerNode is at most 65536"),
    ("a template without containers", [(f"{POD}.containers", REMOVED)], "add one that runs the trainer"),
    ("an empty list of containers", [(f"{POD}.containers", [])], "add one that runs the trainer"),
    ("no command", [(f"{TRAINER}.command", REMOVED)], "the first container has no command: name the trainer's program"),
    ("an empty command", [(f"{TRAINER}.command", [])], "the first container has no command: name the trainer's program"),
    ("a command in the second container only",
     [(f"{TRAINER}.command", REMOVED), (f"{POD}.containers.1", {"name": "b", "image": "b", "command": ["b"]})],
     "the first container has no command: name the trainer's program"),
    ("a container without image", [(f"{TRAINER}.image", REMOVED)], "a container has no image: name the one to run"),
    ("a container without name", [(f"{TRAINER}.name", "")], "a container has no name: give it one"),
    ("restartPolicy Always", [(f"{POD}.restartPolicy", "Always")], "a restartPolicy other than Never: remove it"),
    ("restartPolicy OnFailure", [(f"{POD}.restartPolicy", "OnFailure")], "a restartPolicy other than Never: remove it"),
    ("a node by name", [(f"{POD}.nodeName", "node-1")], "use nodeSelector or affinity"),
    ("a label of ours", [(LABELS + ("ratoon.dev/role",), "boss")], "labels that begin with ratoon.dev/ are set by"),
    ("an annotation of ours", [(f"{TEMPLATE}.metadata.annotations", {"ratoon.dev/avoided-nodes": "node-1"})],
     "annotations that begin with ratoon.dev/ are set by"),
    ("a variable of ours", [(f"{TRAINER}.env.0.name", "RATOON_INDEX")], "is set by the operator: remove it"),
    ("a rank", [(f"{TRAINER}.env.0.name", "RANK")], "is set by the operator: remove it"),
    ("another job's UID", [(f"{TRAINER}.env.0.name", "RATOON_JOB_UID")], "is set by the operator: remove it"),
    ("silence no longer than a beat",
     [("spec.disruptionPolicy.heartbeatSeconds", 3), ("spec.disruptionPolicy.suspectAfterSeconds", 3)],
     "suspectAfterSeconds must be more than heartbeatSeconds: raise it"),
    ("a long beat with the silence left out", [("spec.disruptionPolicy", {"heartbeatSeconds": 5})],
     "suspectAfterSeconds must be more than heartbeatSeconds: raise it"),
    ("a taint with value and effect", [("spec.disruptionPolicy.noticeTaints.0", "example.com/going=now:NoExecute")], NO_TAINT),
    ("a label with its value", [("spec.topology", {"packBy": "example.com/rack=7"})], "packBy takes the key of a label of nodes"),
    ("a taint with two slashes", [("spec.disruptionPolicy.noticeTaints.0", "a/b/c")], NO_TAINT),
    ("a claim that is a path", [("spec.checkpointPolicy.volumeClaimName", "/mnt/a")], "as kubectl get pvc shows it"),
    ("a home in a folder", [("spec.checkpointPolicy.home", "/mnt/a")], "home is no place in an object store"),
    ("a home and a volume", [("spec.checkpointPolicy.home", "s3://bucket/runs")], "are two places of one run: remove home"),
    ("a run that is a path", [("spec.checkpointPolicy.runName", "../other")], f"runName is no DNS label: {NO_LABEL}"),
    ("a store that is read only", [("spec.checkpointPolicy.stores", ["https://host/runs"])], "a store is no place that can"),
    ("two stores in one", [("spec.checkpointPolicy.stores", ["s3://a/b,s3://c/d"])], "a store is no place that can"),
    ("a store by a relative path", [("spec.checkpointPolicy.stores", ["runs"])], "use s3://bucket/prefix, file:///folder"),
    ("one checkpoint kept", [("spec.checkpointPolicy.keepLast", 1)], "keepLast is no number of checkpoints to keep"),
    ("1001 checkpoints kept", [("spec.checkpointPolicy.keepLast", 1001)], "use 2 to 1000, All, or 0 where stores"),
    ("all kept, in small letters", [("spec.checkpointPolicy.keepLast", "all")], "use 2 to 1000, All, or 0 where stores"),
    ("nothing kept anywhere", [("spec.checkpointPolicy.keepLast", 0)], "there are no stores: name stores, or keep 2 at least"),
    ("an endpoint without scheme", [("spec.checkpointPolicy.s3", {"endpoint": "minio:9000"})], "endpoint is no service"),
    ("an endpoint with a password", [("spec.checkpointPolicy.s3", {"endpoint": "https://a:b@minio"})], "endpoint is no service"),
    ("a region in capitals", [("spec.checkpointPolicy.s3", {"region": "EU"})], "region is none: use one like eu-central-1"),
    ("a duration without unit", [("spec.maxDuration", "90")], "maxDuration is no amount of training"),
    ("no duration at all", [("spec.maxDuration", "0ep")], "use a number above 0 and a unit, 90ep, 5000st"),
    ("parts that are none", [("spec.checkpointPolicy.loadParts", "state")], "Unsupported value"),
    ("weights by a relative path", [("spec.checkpointPolicy.loadFrom", "weights")], "loadFrom is no place to read from"),
    ("staging memory without a unit", [("spec.checkpointPolicy.stagingMemory", "1024")], "stagingMemory is no size"),
    ("no staging memory, in a word", [("spec.checkpointPolicy.stagingMemory", "0Gi")], "use 512Mi, 8Gi or 1Ti"),
    ("success of a role that is none", [("spec.successPolicy", {"roles": ["worker", "boss"]})],
     "successPolicy names a role that the job does not have"),
    ("failures of a role that is none", [("spec.failurePolicy", {"roles": ["boss"]})],
     "failurePolicy names a role that the job does not have"),
    ("a rule about a role that is none",
     [("spec.restartPolicy.rules", [{"action": "Fail", "exitCodes": [1], "roles": ["boss"]}])],
     "a rule of restartPolicy names a role that the job does not have"),
    ("a grace that the template cuts short",
     [("spec.checkpointPolicy.graceSeconds", 60), (f"{POD}.terminationGracePeriodSeconds", 59)],
     "a template ends its pods before graceSeconds are over"),
    ("a rule about nothing", [("spec.restartPolicy.rules", [{"action": "Fail"}])], "a rule is about nothing: give it exitCodes"),
    ("a rule about empty lists", [("spec.restartPolicy.rules", [{"action": "Fail", "exitCodes": [], "reasons": []}])],
     "a rule is about nothing"),
    ("a rule about a code of ours", [("spec.restartPolicy.rules", [{"action": "Ignore", "exitCodes": [1, 82]}])],
     "exit codes 80 to 86 have a meaning that no rule changes"),
    ("a longest pause that is shorter", [("spec.restartPolicy.backoffSeconds", 10), ("spec.restartPolicy.backoffMaxSeconds", 5)],
     "backoffMaxSeconds must be at least backoffSeconds"),
    ("more at least than there are", [("spec.elasticPolicy", {"minReplicas": 3})],
     "minReplicas must be at most numNodes: lower elasticPolicy.minReplicas or raise numNodes"),
    ("more wanted than there may be", [("spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 1})],
     "numNodes must be at most maxReplicas: raise elasticPolicy.maxReplicas or lower numNodes"),
    ("an agent in some roles only", [second_role(agent="None")], "give all roles of a job the same agent"),
    ("a launcher in some roles only", [second_role(agent="Launcher")], "give all roles of a job the same agent"),
    ("an elastic job without the agent", [("spec.roles.0.agent", "None"), ("spec.elasticPolicy", {"minReplicas": 1})],
     "elasticPolicy needs the agent: remove it, or agent None"),
    ("a release at once", [("spec.releaseAfterSeconds", 0)], "releaseAfterSeconds must be at least 1: raise it, or remove it"),
    ("steps of who reports none", [("spec.roles.0.agent", "None"), ("spec.progressDeadlineSeconds", 60)],
     "progressDeadlineSeconds needs agent Ratoon: remove it"),
    ("steps of a launched program", [("spec.roles.0.agent", "Launcher"), ("spec.processesPerNode", 1),
                                     ("spec.progressDeadlineSeconds", 60)],
     "progressDeadlineSeconds needs agent Ratoon: remove it"),
    ("two processes in a pod of who has no agent", [("spec.roles.0.agent", "None")],
     "a pod with agent Launcher or None has one process: set processesPerNode to 1"),
    ("nothing that is elastic", [("spec.roles.0.replicas", 2), ("spec.elasticPolicy", {"minReplicas": 1})],
     "elasticPolicy needs a role that is sized by numNodes"),
]

# What the platform itself says, of bounds and of lists with keys: it names the field and the bound.
PLATFORM = [
    ("no spec", [("spec", REMOVED)], "spec: Required value"),
    ("no roles", [("spec.roles", REMOVED)], "spec.roles: Required value"),
    ("an empty list of roles", [("spec.roles", [])], "spec.roles in body should have at least 1 items"),
    ("nine roles", [("spec.roles", [{**ROLE, "name": f"role{n}"} for n in range(9)])], "must have at most 8 items"),
    ("two roles of one name", [("spec.roles.1", ROLE)], "Duplicate value"),
    ("a role without name", [("spec.roles.0.name", REMOVED)], "spec.roles[0].name: Required value"),
    ("a role's name of 13 characters", [("spec.roles.0.name", "a" * 13)], "may not be more than 12 bytes"),
    ("no template", [(TEMPLATE, REMOVED)], "template: Required value"),
    ("a template without spec", [(POD, REMOVED)], "template.spec: Required value"),
    ("an agent that is none of ours", [("spec.roles.0.agent", "Kubeflow")], "Unsupported value"),
    ("no members", [("spec.numNodes", 0)], "spec.numNodes in body should be greater than or equal to 1"),
    ("4097 members", [("spec.numNodes", 4097)], "spec.numNodes in body should be less than or equal to 4096"),
    ("no processes", [("spec.processesPerNode", 0)], "should be greater than or equal to 1"),
    ("65 processes", [("spec.processesPerNode", 65)], "should be less than or equal to 64"),
    ("a role with no members", [("spec.roles.0.replicas", 0)], "should be greater than or equal to 1"),
    ("a number as text", [("spec.numNodes", "two")], "must be of type integer"),
    ("a seed below 0", [("spec.dataPolicy", {"seed": -1})], "should be greater than or equal to 0"),
    ("a seed beyond JSON", [("spec.dataPolicy", {"seed": 2**53})], "should be less than or equal to 9007199254740991"),
    ("a batch of nothing", [("spec.dataPolicy", {"globalBatchSize": 0})], "should be greater than or equal to 1"),
    ("a batch that no stream takes", [("spec.dataPolicy", {"globalBatchSize": 2**28 + 1})], "less than or equal to 268435456"),
    ("a seed as text", [("spec.dataPolicy", {"seed": "17"})], "must be of type integer"),
    ("nine stores", [("spec.checkpointPolicy.stores", [f"/s{n}" for n in range(9)])], "must have at most 8 items"),
    ("a store twice", [("spec.checkpointPolicy.stores", ["/a", "/a"])], "Duplicate value"),
    ("a checkpoint each 0 steps", [("spec.checkpointPolicy.intervalSteps", 0)], "should be greater than or equal to 1"),
    ("fewer than no restarts", [("spec.restartPolicy.maxRestarts", -1)], "should be greater than or equal to 0"),
    ("an action that is none", [("spec.restartPolicy.rules", [{"action": "FailJob", "exitCodes": [1]}])], "Unsupported value"),
    ("a rule without action", [("spec.restartPolicy.rules", [{"exitCodes": [1]}])], "action: Required value"),
    ("exit code 0", [("spec.restartPolicy.rules", [{"action": "Fail", "exitCodes": [0]}])],
     "should be greater than or equal to 1"),
    ("21 rules", [("spec.restartPolicy.rules", [{"action": "Fail", "exitCodes": [1]}] * 21)], "must have at most 20 items"),
    ("a signal that is none", [("spec.restartPolicy.rules", [{"action": "Fail", "signals": [65]}])], "less than or equal to 64"),
    ("a release after two days", [("spec.releaseAfterSeconds", 172800)], "should be less than or equal to 86400"),
    ("two years", [("spec.maxDurationSeconds", 63244800)], "should be less than or equal to 31622400"),
    ("a node avoided for two days", [("spec.disruptionPolicy.avoidNodeSeconds", 172800)], "less than or equal to 86400"),
    ("a smallest size above the largest", [("spec.elasticPolicy", {"minReplicas": 4097})],
     "should be less than or equal to 4096"),
    ("an elastic job without a smallest size", [("spec.elasticPolicy", {})], "minReplicas: Required value"),
    ("a taint twice", [("spec.disruptionPolicy.noticeTaints", ["a", "a"])], "Duplicate value"),
    ("nobody who decides", [("spec.successPolicy", {"roles": []})], "should have at least 1 items"),
    ("a success policy about nothing", [("spec.successPolicy", {})], "roles: Required value"),
    ("a failure policy about nothing", [("spec.failurePolicy", {"roles": []})], "should have at least 1 items"),
    ("pods that partly stay", [("spec.cleanPodPolicy", "Some")], "Unsupported value"),
    ("a job that went before its end", [("spec.ttlSecondsAfterFinished", -1)], "should be greater than or equal to 0"),
    ("a grace of two hours", [("spec.checkpointPolicy.graceSeconds", 7200)], "should be less than or equal to 3600"),
    ("a command that is a text", [(f"{TRAINER}.command", "digits --fast")], "must be of type array"),
]

# Changes of a job that is there.
CHANGES = [
    ("another role", [second_role()], "roles cannot be changed while members run: set suspend to true"),
    ("another image", [(f"{TRAINER}.image", "digits:2")], "roles cannot be changed while members run"),
    ("a rollback in the middle", [(f"{TRAINER}.args", ["--resume-from", "100"])], "roles cannot be changed while members run"),
    ("another node selector", [(f"{POD}.nodeSelector.disk", "slow")], "roles cannot be changed while members run"),
    ("a field that the schema does not name", [(f"{POD}.hostNetwork", True)], "roles cannot be changed while members run"),
    ("more places", [("spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 3})],
     "maxReplicas cannot be changed while members run: set suspend to true"),
    ("more members", [("spec.numNodes", 3)], "numNodes cannot be changed while members run: set suspend to true"),
    ("another beat", [("spec.disruptionPolicy.heartbeatSeconds", 2)], "heartbeatSeconds cannot be changed while members run"),
    ("more processes", [("spec.processesPerNode", 3)], "processesPerNode cannot be changed while members run"),
    ("another volume", [("spec.checkpointPolicy.volumeClaimName", "b")], "volumeClaimName cannot be changed while"),
    ("another home", [("spec.checkpointPolicy.home", "s3://bucket/runs"), ("spec.checkpointPolicy.volumeClaimName", REMOVED)],
     "home cannot be changed while"),
    ("another run", [("spec.checkpointPolicy.runName", "second")], "runName cannot be changed while"),
    ("beginning anew in the middle", [("spec.checkpointPolicy.overwrite", True)], "overwrite cannot be changed while"),
    ("other stores", [("spec.checkpointPolicy.stores", ["s3://other/runs"])], "stores cannot be changed while members run"),
    ("saves at other steps", [("spec.checkpointPolicy.intervalSteps", 20)], "intervalSteps cannot be changed while members run"),
    ("another service", [("spec.checkpointPolicy.s3", {"endpoint": "https://b"})], "the endpoint of s3 cannot be changed while"),
    ("another region", [("spec.checkpointPolicy.s3", {"region": "us-east-1"})], "the region of s3 cannot be changed while"),
    ("another end", [("spec.maxDuration", "90ep")], "maxDuration cannot be changed while members run"),
    ("another seed", [("spec.dataPolicy", {"seed": 18})], "seed cannot be changed while members run: set suspend to true"),
    ("another batch", [("spec.dataPolicy", {"globalBatchSize": 64})], "globalBatchSize cannot be changed while members run"),
    ("no batch any more", [("spec.dataPolicy.globalBatchSize", REMOVED)], "globalBatchSize cannot be changed while members run"),
    ("no data policy any more", [("spec.dataPolicy", REMOVED)], "seed cannot be changed while members run"),
    ("no volume any more", [("spec.checkpointPolicy.volumeClaimName", REMOVED)], "volumeClaimName cannot be changed while"),
    ("no policy any more", [("spec.checkpointPolicy", REMOVED)], "runName cannot be changed while"),
]
