# The copy of the last checkpoint reached the store between the lists of the waiting members and the decision.
0 members 3
0 nodes 4
0 steps 22
0 save-every 7
0 chaos 144
0 notices 1
0 local-disks 1
0 platform-ends-pods 1
0 rejects-pods 1
1 looked-at-after 4
1 looked-at-after #4 5
6 kubelet-rejects digits-worker-0-i0 1
6 place digits-worker-3-i0 2
17 platform-ends-pod 1
17 ends-pod 1
40 trouble uid-6 1
40 which 3
41 pulls-for 5
46 kubelet-rejects digits-worker-2-i2 1
47 pulls-for 2
49 kubelet-rejects digits-worker-2-i3 1
56 notice 1
56 notice-to 2
59 trouble uid-9 1
59 frozen-for 29
65 pulls-for 3
86 trouble uid-10 1
86 which 2
86 copied-after 2
86 busy 1
88 place digits-worker-3-i2 1
89 busy 1
