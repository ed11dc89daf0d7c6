# An elastic job was over because no ready member had its checkpoint, while a silent member had listed one.
0 members 3
0 nodes 4
0 steps 35
0 chaos 25
0 elastic 1
0 grow-cooldown 2
0 former-run 1
0 retention 1
0 local-disks-alone 1
0 places 1
0 more-places 1
1 busy 1
2 looked-at-after #2 5
2 looked-at-after #4 4
2 looked-at-after #6 2
4 place digits-worker-5-i0 2
16 trouble uid-2 1
16 frozen-for 27
22 which 4
22 trouble uid-6 1
