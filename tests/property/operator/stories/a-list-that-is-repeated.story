# One that stood still repeats its list to a new operator, and more was committed since it read the list.
0 members 2
0 nodes 1
0 steps 7
0 chaos 168
0 operators-end 1
0 elastic 1
0 shrink-after 2
0 is-patient 1
0 patience 1
0 local-disks 1
0 places 1
0 more-places 1
0 zones 1
0 zone-count 2
1 looked-at-after 5
1 looked-at-after #2 7
1 looked-at-after #4 5
4 cut-zone 1
4 zone 1
4 zone-cut-for 76
6 pulls-for 3
6 pulls-for #2 4
8 place digits-worker-1-i0 1
9 starts-slowly digits-worker-0-i0 1
9 starts-after 12
9 starts-slowly digits-worker-1-i0 1
9 starts-after #2 8
11 looked-at-after 2
12 cut-short 1
12 and-ends 1
13 place digits-worker-2-i1 1
23 cut-zone 1
23 zone 1
23 zone-cut-for 28
29 copied-after 9
29 looked-at-after 6
29 looked-at-after #2 4
33 trouble uid-2 1
33 frozen-for 13
33 cut-short 1
33 and-ends 1
36 starts-slowly digits-worker-3-i1 1
36 starts-after 7
