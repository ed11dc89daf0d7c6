# The others waited for a member that had died, and its last beat said that it waited for them.
0 members 3
0 nodes 2
0 steps 16
0 chaos 8
0 beats-slowly 1
0 heartbeat 1
1 looked-at-after 2
3 place digits-worker-0-i0 1
3 pulls-for 2
18 trouble uid-3 1
18 frozen-for 10
20 operator-stands 1
28 node-dies 1
28 dies 1
