import { ViewMeasured } from "../contract";
import { SectionCard } from "../sections";
import { usePage } from "../state";
import { texts } from "../texts";
import { Select } from "../ui";

export function Measured() {
  const page = usePage();
  const all = page.catalog.sections.map((s, i) => ({ s, i })).filter(({ s }) => s.view === ViewMeasured);
  if (all.length === 0) return <p class="note">{texts.measured.none}</p>;
  const runs = [...new Set(all.map(({ s }) => s.run ?? ""))].filter((r) => r !== "");
  const run = runs.includes(page.state.params["run"] ?? "") ? page.state.params["run"]! : "";
  const shown = all.filter(({ s }) => run === "" || !s.run || s.run === run);
  return (
    <>
      <p class="help">{texts.measured.ownRows}</p>
      {runs.length > 1 && (
        <div class="choices">
          <Select label={texts.measured.run} value={run} onChange={(v) => page.set({ run: v })}
            options={[{ value: "", title: texts.measured.allRuns }, ...runs.map((r) => ({ value: r, title: r }))]} />
        </div>
      )}
      {shown.length > 3 && <Contents of={shown.map(({ s, i }) => ({ title: s.title, id: `section-${i}`, run: runs.length > 1 && !run ? s.run : undefined }))} />}
      {shown.map(({ s, i }) => <SectionCard key={i} of={s} id={`section-${i}`} />)}
    </>
  );
}

/** Buttons, not links: the address behind # says what is shown. */
export function Contents({ of }: { of: { title: string; id: string; run?: string | undefined }[] }) {
  return (
    <nav class="contents" aria-label={texts.measured.contents}>
      <ul>
        {of.map((s) => (
          <li key={s.id}>
            <button type="button" onClick={() => document.getElementById(s.id)?.scrollIntoView()}>{s.title}{s.run && <span class="sub"> {s.run}</span>}</button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
