# A member that was in no world spoke after its node was suspected. Once all its processes had spoken it was
# forgotten that the node lives, and the member was lost with it.
0 members 2
0 processes 1
0 avoid 2
0 steps 16
0 chaos 63
0 operators-end 1
0 elastic 1
0 members-min 2
0 shrink-after 1
18 trouble uid-3 #2 1
18 frozen-for 24
23 trouble uid-1 1
23 which 2
37 trouble uid-2 1
37 which 3
37 pod-ends-with 1
39 trouble uid-4 1
39 frozen-for 29
41 trouble uid-5 1
41 frozen-for 23
45 cut-short 1
45 and-ends 1
58 trouble uid-5 #2 1
58 frozen-for 15
