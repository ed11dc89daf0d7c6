# One who told of a damaged checkpoint died with its node, and the operator did not know that yet.
0 members 3
0 processes 1
0 save-every 2
0 chaos 69
0 elastic 1
0 shrink-after 1
0 is-patient 1
0 patience 1
0 former-run 1
0 begins-anew 1
0 damage 1
0 late-watches 1
0 deletes-pods 1
0 places 1
0 more-places 1
1 looked-at-after 6
1 looked-at-after #2 5
1 looked-at-after #3 7
6 pulls-for 3
12 trouble uid-4 1
12 which 2
12 busy 1
13 trouble uid-5 #2 1
13 which 2
13 busy 1
14 looked-at-after #2 6
16 delete-pod 1
16 watches-stand 1
16 watches-stand-for 19
24 which 1
24 agent-cut-for 50
24 trouble uid-3 #2 1
27 delete-pod 1
28 delete-pod 1
28 deletes-pod 1
31 looked-at-after 2
33 pulls-for 5
34 looked-at-after 5
38 busy 1
43 trouble uid-9 #2 1
43 which 4
56 trouble uid-9 1
56 which 4
59 damage 1
60 trouble uid-9 #2 1
60 which 1
60 agent-cut-for 10
64 damage 1
70 finds-damage uid-13 #2 1
71 trouble uid-12 #2 1
71 which 1
71 agent-cut-for 29
75 node-dies 1
75 trouble uid-10 1
75 which 4
79 finds-damage uid-10 1
