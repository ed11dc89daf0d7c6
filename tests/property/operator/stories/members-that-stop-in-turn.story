# Members stopped one after the other, and each waited for the next one. None of them hung.
0 members 2
0 chaos 14
0 is-patient 1
0 patience 5
11 trouble uid-1 1
11 frozen-for 14
25 frozen-for 4
25 trouble uid-3 1
30 trouble uid-2 1
30 frozen-for 24
