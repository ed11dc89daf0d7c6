# A former run had gone beyond the end of this one: its newest checkpoint was damaged, and the one before was the end.
0 members 1
0 chaos 133
0 operators-end 1
0 backoff 1
0 former-run 1
0 former-step 7
0 former-more 3
0 damage 1
0 platform-ends-pods 1
3 cut-short 1
3 and-ends 1
3 away 1
3 for-long 1
13 platform-ends-pod 1
13 ends-how 2
18 operator-ends 1
20 looked-at-after 2
21 lose-pod 1
22 pulls-for 5
27 starts-slowly digits-worker-0-i1 1
33 platform-ends-pod 1
33 busy 1
34 hangs-in-terminating digits-worker-0-i1 1
34 looked-at-after 6
40 damage 1
42 finds-damage uid-4 1
