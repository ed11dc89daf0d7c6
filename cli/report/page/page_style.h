// The CSS of a report, for light and dark mode. Useful time has cool colours, and lost time has warm
// colours.
#pragma once

namespace ratoon::cli {

inline constexpr const char* kPageStyle = R"CSS(
:root{color-scheme:light dark;--back:#f7f8f7;--card:#fff;--text:#1b2420;--quiet:#5d6a64;--edge:#dde3df;
--accent:#1d7a55;--loss:#c6282f;--curve:#1d6fb8;--undone:#c98a1b}
@media (prefers-color-scheme:dark){:root{--back:#121614;--card:#1a201d;--text:#e4ebe7;--quiet:#94a39b;
--edge:#2d3631;--accent:#4cc38f;--loss:#ff6b6b;--curve:#66b3f5;--undone:#e3ab4a}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;margin:0;overflow-wrap:anywhere;display:inline}
h2{font-size:16px;margin:0 0 4px}
pre{margin:0;padding:10px 12px;background:var(--back);border-radius:6px;font:12px/1.5 ui-monospace,monospace;
white-space:pre-wrap;overflow-wrap:anywhere}
p{margin:4px 0 10px;color:var(--quiet)}
.lead{font-size:17px;color:var(--text);margin:14px 0 18px;max-width:860px}
.badge{margin-left:12px;padding:2px 10px;border-radius:10px;background:var(--accent);color:var(--back);
font-size:13px;vertical-align:4px;white-space:nowrap}
.badge.bad{background:var(--loss)}.badge.open{background:var(--quiet)}
.where{font-size:13px;color:var(--quiet);overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 16px}
.card,section{background:var(--card);border:1px solid var(--edge);border-radius:10px}
.card{padding:12px 14px}.card b{display:block;font-size:22px;line-height:1.3;overflow-wrap:anywhere}
.card span{color:var(--quiet);font-size:13px}
section{padding:16px 18px;margin:0 0 16px;overflow-x:auto}
svg{display:block;width:100%;height:auto}
@media(max-width:700px){section>svg{min-width:640px}}
svg.account{height:30px;border-radius:6px;margin:8px 0}svg.fall{height:16px;min-width:240px}
.label{font-size:13px;color:var(--quiet);margin:10px 0 0}.label b{color:var(--text)}
text{font:11px system-ui,sans-serif;fill:var(--quiet)}.scale{text-anchor:end}.moment{text-anchor:middle}
.grid{stroke:var(--edge);stroke-width:1}.tick{stroke:var(--quiet)}
.curve{fill:none;stroke:var(--curve);stroke-width:1.6;stroke-linejoin:round}
.undone{stroke:var(--undone);stroke-width:2.4}
.dot{fill:var(--curve)}.dot.undone{fill:var(--undone);stroke:none}
.rate{fill:var(--accent);fill-opacity:.3;stroke:var(--accent);stroke-width:1}
.loss{stroke:var(--loss);stroke-width:1;stroke-dasharray:3 3;stroke-opacity:.7}.lost{fill:var(--loss)}
.save{stroke:var(--accent);stroke-width:1.4}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;padding:0;margin:6px 0 0;list-style:none}
.legend i{display:inline-block;width:11px;height:11px;border-radius:2px;
margin-right:6px;background:currentColor}
.legend span{color:var(--text)}.legend em{color:var(--quiet);font-style:normal}
table{border-collapse:collapse;width:100%;font-size:13px;margin-top:6px}
th{text-align:left;font-weight:600;color:var(--quiet)}
th,td{padding:4px 16px 4px 0;border-bottom:1px solid var(--edge);vertical-align:middle}
td.wide{width:44%;min-width:250px}.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:12px ui-monospace,monospace;overflow-wrap:anywhere}
td.why{color:var(--loss)}
.c-useful,.c-load{fill:#2f9e6e;color:#2f9e6e}.c-recomputed,.c-start{fill:#e0a030;color:#e0a030}
.c-save_stall,.c-rendezvous{fill:#7d6bd0;color:#7d6bd0}.c-data_wait,.c-place{fill:#3f9fb5;color:#3f9fb5}
.c-waiting_for_capacity{fill:#8d99a0;color:#8d99a0}.c-restarting,.c-detect{fill:#d9574a;color:#d9574a}
.c-hung{fill:#a02c6b;color:#a02c6b}.c-validation,.c-first_step{fill:#5a8fd8;color:#5a8fd8}
.c-decide{fill:#b08968;color:#b08968}.c-other{fill:#9aa;color:#9aa}
.c-starting,.c-ending{fill:#8fb8a8;color:#8fb8a8}
.c-unfinished{fill:#b7a98f;color:#b7a98f}.c-suspended{fill:#a7b0c0;color:#a7b0c0}
.c-away,.c-absent{fill:var(--edge);color:var(--edge)}
footer{font-size:12px;color:var(--quiet)}
)CSS";

}  // namespace ratoon::cli
