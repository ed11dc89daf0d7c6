"""Kinds of state that ratoon.Session restores in programs of PyTorch. session_torch_cases.py runs these cases, too."""
import unittest

from session_torch_programs import MODEL, Case


class States(Case):
    def test_tensors_that_expand_made_are_restored(self):
        program = MODEL + """
class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 4).expand(3, 4))
        self.register_buffer("one", torch.zeros(()).expand(2, 3))
net, alone = Table(), torch.zeros(2, 1).expand(2, 5)
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(net=net, alone=alone)
    for step in session.steps(int(sys.argv[2])):
        net.rows[0].add_(torch.arange(4.0))
        net.one[0, 0].add_(0.5)
        alone[:, 0].add_(torch.tensor([1.0, 2.0]))
print("result", net.rows.tolist(), net.rows.stride(), net.one.tolist(), alone.tolist())
"""
        unbroken = self.result(program, self.folder / "unbroken", 5)
        self.assertEqual(unbroken, f"result {[[0.0, 5.0, 10.0, 15.0]] * 3} (0, 1) {[[2.5] * 3] * 2} {[[5.0] * 5, [10.0] * 5]}")
        self.result(program, self.folder / "broken", 2)
        self.assertEqual(self.result(program, self.folder / "broken", 5), unbroken)

    def test_memory_behind_an_expanded_tensor_is_not_tracked_with_it(self):
        program = MODEL + """
memory = torch.zeros(8)
optimizer = torch.optim.SGD([torch.nn.Parameter(memory[4:])], 1.0)
with ratoon.Session(save_folder=sys.argv[1], run_name="net") as session:
    session.track(rows=memory[:4].expand(2, 4), optimizer=optimizer)
    for step in session.steps(1): pass
"""
        code, _, errors = self.end(self.start(program, self.folder))
        self.assertEqual(code, 82, errors)
        self.assertIn("tracked 'optimizer' changes parameter 0 of its group 0, of shape [4], which is not tracked", errors)

    def test_a_gradient_scaler_is_restored(self):
        program = MODEL + """
torch.manual_seed(11)
net, x = torch.nn.Linear(8, 1), torch.randn(64, 8)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(net=net, optimizer=optimizer, scaler=scaler)
    for step in session.steps(int(sys.argv[2])):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        scaler.scale(loss * float("inf") if step == 5 else loss).backward()
        scaler.step(optimizer)
        scaler.update()
print("result", scaler.get_scale(), scaler.state_dict(), [tensor.tolist() for tensor in net.state_dict().values()])
"""
        # If the scaler began anew at step 10, its scale would end at 128.
        unbroken = self.result(program, self.folder / "unbroken", 14)
        self.assertTrue(unbroken.startswith("result 256.0 "), unbroken)
        self.result(program, self.folder / "broken", 10)
        self.assertEqual(self.result(program, self.folder / "broken", 14), unbroken)


if __name__ == "__main__":
    unittest.main(verbosity=2)
