# The CRD, the chart, the dashboards, the alerts and the scrape configuration, with the programs that users have: kubectl, helm,
# promtool and a real kube-apiserver. The second label keeps them where real servers are.
ratoon_python_test(charts/argocd_test LABELS integration)
ratoon_python_test(charts/crd_source_test LABELS integration)
ratoon_python_test(charts/crd_server_test LABELS integration)
ratoon_python_test(charts/chart_test LABELS integration)
ratoon_python_test(charts/chart_parts_test LABELS integration)
ratoon_python_test(charts/chart_server_test LABELS integration)
ratoon_python_test(charts/dashboard_test LABELS integration)
ratoon_python_test(charts/logs_test LABELS integration)
ratoon_python_test(charts/monitors_nightly_test LABELS nightly)
ratoon_python_test(charts/rules_test LABELS integration)
ratoon_python_test(charts/scrape_test LABELS integration)
ratoon_python_test(charts/status_test LABELS integration)
