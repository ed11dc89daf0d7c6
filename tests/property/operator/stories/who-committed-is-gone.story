# Those who wait began to before the commit, and who committed is gone.
0 steps 21
0 chaos 110
0 elastic 1
0 grow-cooldown 2
0 places 1
2 pulls-for 3
5 starts-slowly digits-worker-0-i0 1
27 trouble uid-2 1
27 frozen-for 12
