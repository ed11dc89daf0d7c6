# The seats of a new world were stored and never sent, and a member that was starting counted as silent in it.
0 steps 25
0 chaos 80
0 notices 1
0 operators-end 1
0 helpers 1
21 notice 1
21 looked-at-after #2 6
22 cut 1
22 cut-for 118
27 pulls-for 5
28 cut 1
28 cut-for 24
32 cut-short 1
32 cut-after 2
