# Members completed while their connections were cut, and their pods are gone when the next world forms.
0 chaos 92
0 notices 1
0 operators-end 1
0 beats-slowly 1
0 heartbeat 2
0 former-run 1
0 local-disks 1
0 helpers 1
1 looked-at-after #2 5
3 notice 1
6 pulls-for 5
11 busy 1
14 cut 1
14 cut-for 35
19 operator-stands 1
20 notice 1
20 notice-to 1
20 dies-then 1
20 dies-after 34
23 copied-after 11
35 node-dies 1
36 operator-ends 1
38 cut-short 1
38 and-ends 1
38 away 1
38 away-for 17
54 gives-up uid-3 1
65 cut-short 1
65 and-ends 1
