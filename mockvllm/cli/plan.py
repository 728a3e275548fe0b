"""`mockvllm plan`: figures for sizing a deployment, each in one command."""

from collections.abc import Sequence

from mockvllm.cli import console, plan_budget, plan_jerks, plan_memory, plan_roofline

app = console.new_app("Planning figures a person can trust. Without flags each shows the reference case.")
app.command("memory")(plan_memory.memory)
app.command("roofline")(plan_roofline.roofline)
app.command("budget")(plan_budget.budget)
app.command("jerks")(plan_jerks.jerks)


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "plan")
