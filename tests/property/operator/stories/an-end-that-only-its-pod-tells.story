# A member ended while the operator could not be reached: only the record of its pod says that it is done.
0 members 2
0 nodes 2
0 save-every 7
0 chaos 173
0 operators-end 1
0 suspends 1
0 local-disks-alone 1
0 resizes 1
11 trouble uid-2 1
11 which 2
12 operator-ends 1
12 away 1
12 away-for 27
34 trouble uid-1 1
34 which 2
39 looked-at-after 3
43 starts-slowly digits-worker-0-i1 1
46 suspend 1
116 resize 1
123 suspend 1
133 lose-pod 1
133 looked-at-after 3
136 place digits-worker-0-i3 2
141 operator-ends 1
141 away 1
141 away-for 20
147 suspend 1
148 cut 1
148 cut-for 79
167 resize 1
167 resize-to 1
168 suspend 1
180 cut-short 1
180 and-ends 1
183 gives-up uid-7 1
