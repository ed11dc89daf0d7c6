# A world was to resume what one of its processes had found bad.
0 members 1
0 nodes 3
0 steps 29
0 chaos 125
0 operators-end 1
0 damage 1
0 helpers 1
0 platform-ends-pods 1
0 zones 1
2 place digits-worker-0-i0 3
42 trouble uid-3 1
42 which 5
43 cut 1
43 cut-for 61
61 cut-short 1
61 and-ends 1
62 cut-zone 1
62 zone-cut-for 59
62 trouble uid-2 1
62 which 2
94 damage 1
108 platform-ends-pod 1
132 operator-ends 1
132 away 1
132 away-for 28
143 platform-ends-pod 1
143 ends-pod 1
160 looked-at-after 5
165 pulls-for 5
170 starts-slowly digits-worker-1-i2 1
170 starts-after 9
188 finds-damage uid-6 1
