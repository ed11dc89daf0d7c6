# A departure was put off with each look at a notice that did not tell its age.
0 chaos 179
0 notices 1
0 helpers 1
0 helper-count 1
0 late-watches 1
1 looked-at-after #3 5
2 watches-stand 1
2 watches-stand-for 13
7 lose-pod 1
7 loses 4
23 notice 1
23 notice-how 2
