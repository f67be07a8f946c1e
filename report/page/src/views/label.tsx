// What a person says of a row, where the source keeps it.

import { useState } from "preact/hooks";
import type { Label, Marked } from "../contract";
import { useAsk, usePage } from "../state";
import { texts } from "../texts";
import { Answer, Card } from "../ui";

/** The form for a row; nothing where marks are not kept, as in a report file. */
export function LabelForm({ n }: { n: number }) {
  const { source, catalog } = usePage();
  const asked = useAsk(`marked ${n}`, n, async (s, signal) => (catalog.labels ? s.marked?.(n, signal) : undefined));
  if (!catalog.labels || !source.mark) return null;
  const labels = catalog.labels;
  return <Card title={texts.label.title} help={texts.label.help}><Answer of={asked}>{(mark) => mark && <Form n={n} labels={labels} before={mark} />}</Answer></Card>;
}

/** What was chosen and typed, and not saved, by row: it is there again when the row is opened again. */
const drafts = new Map<number, { chosen: Set<string>; notes: string }>();

function Form({ n, labels, before }: { n: number; labels: Label[]; before: Marked }) {
  const { source } = usePage();
  const [mark, setMark] = useState(before);
  const draft = drafts.get(n);
  const [chosen, setChosen] = useState(draft?.chosen ?? new Set(before.labels));
  const [notes, setNotes] = useState(draft?.notes ?? before.notes);
  const [said, setSaid] = useState(draft ? texts.label.unsaved : before.time ? texts.label.marked(before.time) : "");
  const change = (chosen: Set<string>, notes: string) => {
    drafts.set(n, { chosen, notes });
    window.onbeforeunload = (e) => { // who leaves is asked
      if (drafts.size > 0) e.preventDefault();
    };
    setChosen(chosen);
    setNotes(notes);
    setSaid(texts.label.unsaved);
  };
  const [waiting, setWaiting] = useState(false);
  const send = async (given: string[] | null) => {
    setWaiting(true);
    try {
      const kept = await source.mark!({ n, labels: given, notes: given ? notes : "", seen: mark.time ?? "" });
      drafts.delete(n);
      setMark(kept);
      setChosen(new Set(kept.labels));
      setNotes(kept.notes);
      setSaid(given ? texts.label.saved : texts.label.removed);
      dispatchEvent(new Event("erreval-retry")); // lists show marks
    } catch (e) {
      setSaid(texts.label.failed(e instanceof Error ? e.message : String(e)));
    }
    setWaiting(false);
  };
  return (
    <form class="label" onSubmit={(e) => {
      e.preventDefault();
      const given = labels.map((l) => l.name).filter((name) => chosen.has(name));
      if (given.length === 0) setSaid(texts.label.none);
      else void send(given);
    }}>
      {byCategory(labels).map(([category, some]) => (
        <fieldset key={category}>
          <legend>{texts.label.labels(category)}</legend>
          {some.map((l) => (
            <label key={l.name} title={l.definition}>
              <input type="checkbox" checked={chosen.has(l.name)} onChange={() => change(toggled(labels, chosen, l), notes)} />
              <span>{l.name}</span>
            </label>
          ))}
        </fieldset>
      ))}
      <label class="notes">{texts.label.notes}<textarea rows={2} maxLength={5000} value={notes} onInput={(e) => change(chosen, e.currentTarget.value)} /></label>
      <p class="buttons">
        <button type="submit" disabled={waiting}>{texts.label.save}</button>
        {mark.labels && <button type="button" disabled={waiting} onClick={() => void send(null)}>{texts.label.remove}</button>}
        <span role="status" class="sub">{said}</span>
      </p>
    </form>
  );
}

/** The label for a row in which nothing is wrong stands alone. */
export function toggled(labels: Label[], chosen: Set<string>, label: Label): Set<string> {
  if (chosen.has(label.name)) return new Set([...chosen].filter((name) => name !== label.name));
  if (label.no_error) return new Set([label.name]);
  return new Set([...chosen, label.name].filter((name) => !labels.some((l) => l.no_error && l.name === name)));
}

/** Labels by category, both in the taxonomy's order. */
export function byCategory(labels: Label[]): [string, Label[]][] {
  const groups = new Map<string, Label[]>();
  for (const l of labels) groups.set(l.category ?? "", [...(groups.get(l.category ?? "") ?? []), l]);
  return [...groups];
}
