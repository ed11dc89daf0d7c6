# The newest list was of a pod whose UID was not stored yet: no older list was read again, and it did not count.
0 members 2
0 processes 1
0 avoid 3
0 chaos 88
0 elastic 1
0 backoff 1
0 late-watches 1
0 zones 1
0 rejects-pods 1
1 looked-at-after 3
1 looked-at-after #2 4
2 pulls-for 3
4 pulls-for 5
5 pulls-for 5
10 kubelet-rejects digits-worker-1-i0 1
15 trouble uid-3 1
15 which 3
16 trouble uid-1 #2 1
16 which 5
18 watches-stand 1
18 watches-stand-for 7
23 trouble uid-4 #2 1
23 which 3
26 watches-stand 1
26 watches-stand-for 6
41 cut-zone 1
41 zone-cut-for 49
49 operator-stands 1
49 lose-pod 1
49 loses 1
49 looked-at-after 4
51 busy 1
52 starts-slowly digits-worker-1-i1 #2 1
