# A pod that exists already was not read, and so was in no view.
0 steps 20
0 save-every 4
0 chaos 119
0 suspends 1
0 resizes 1
11 holds-watch trainingjobs 1
11 holds-for 38
16 note-on-job 1
87 holds-watch trainingjobs 1
87 holds-for 30
118 loses-answer POST pods  #2 1
28 lose-pod 1
28 and-its-processes 1
59 suspend 1
60 resize 1
60 resize-to 2
88 suspend 1
