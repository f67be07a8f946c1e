import { ViewIssues } from "../contract";
import { SectionCard } from "../sections";
import { ShareTable } from "../shares";
import { findings, usePage } from "../state";
import { texts } from "../texts";
import { facetTitle } from "../titles";
import { Card, Select } from "../ui";

export function Errors() {
  const page = usePage();
  const { catalog, state } = page;
  const choices = findings(catalog).filter((f) => !f.key.startsWith("verdict.")); // whose values are sides of pairs
  const one = choices.filter((f) => f.key === state.params["facet"]);
  const shown = one.length > 0 ? one : choices;
  const runs = catalog.runs.map((r) => r.name);
  const trend = runs.length > 1 && runs.includes(state.params["trend"] ?? "") ? state.params["trend"]! : "";
  const sections = catalog.sections.map((s, i) => ({ s, i })).filter(({ s }) => s.view === ViewIssues);
  if (choices.length === 0) return <p class="note">{texts.issues.empty}</p>;
  return (
    <>
      <div class="choices">
        {choices.length > 1 && (
          <Select label={texts.issues.choose} value={one[0]?.key ?? ""} onChange={(facet) => page.set({ facet })}
            options={[{ value: "", title: texts.overview.whole }, ...choices.map((f) => ({ value: f.key, title: facetTitle(f) }))]} />
        )}
        {runs.length > 1 && (
          <Select label={texts.issues.trend} value={trend} onChange={(v) => page.set({ trend: v })}
            options={[{ value: "", title: texts.issues.trendNone }, ...runs.map((r) => ({ value: r, title: r }))]} />
        )}
      </div>
      {shown.map((f) => <Card key={f.key} title={facetTitle(f)}><ShareTable facet={f} id={f.key} trend={trend} detail /></Card>)}
      {sections.map(({ s, i }) => <SectionCard key={i} of={s} id={`section-${i}`} />)}
    </>
  );
}
