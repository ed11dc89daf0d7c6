# The operator noted a pod's UID and formed its world in one decision, and did not note where the checkpoint was.
0 steps 20
0 save-every 4
0 chaos 167
0 operators-end 1
0 suspends 1
0 backoff 2
0 local-disks 1
0 deletes-pods 1
0 rejects-pods 1
0 saves-slowly 1
1 operator-ends 1
1 away 1
1 away-for 29
31 pulls-for 5
38 cut 1
38 cut-for 40
61 delete-pod 1
64 suspend 1
65 delete-pod 1
79 suspend 1
80 pulls-for 3
83 kubelet-rejects digits-worker-0-i3 1
87 looked-at-after 7
92 operator-ends 1
92 away 1
92 away-for 9
101 busy 1
103 busy 1
122 copied-after 7
124 trouble uid-5 1
124 which 2
125 busy 1
131 node-dies 1
