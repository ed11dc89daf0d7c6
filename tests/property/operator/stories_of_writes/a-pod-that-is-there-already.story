# 'Already exists' was taken for a refusal of the pod.
0 helpers 1
1 loses-answer POST pods  #2 1
