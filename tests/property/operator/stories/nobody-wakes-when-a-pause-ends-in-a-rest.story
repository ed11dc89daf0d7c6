# Nobody woke when a pause ended in a rest.
0 members 2
0 nodes 4
0 steps 15
0 chaos 122
0 operators-end 1
0 backoff 2
0 rules 2
0 rule-code #2 1
0 of-code 2
0 platform-ends-pods 1
0 rests 1
1 looked-at-after 4
1 looked-at-after #2 7
1 looked-at-after #3 3
4 place digits-worker-2-i0 3
5 place digits-worker-0-i0 3
8 place digits-worker-1-i0 2
13 node-dies 1
13 dies 3
38 trouble uid-5 1
38 which 2
50 platform-ends-pod 1
50 ends-pod 7
50 ends-how 2
50 cut 1
50 cut-for 22
62 cut-short 1
62 and-ends 1
62 away 1
62 away-for 27
79 cut 1
79 cut-for 119
95 trouble uid-4 1
95 which 5
102 cut 1
102 cut-for 24
