import { test } from "vitest";
import { sample } from "../test/sample";
import { launch, makeFile } from "./driver";
test("debug", async () => {
  const b = await launch();
  const p = await b.newPage();
  p.on("console", (m) => console.log("console", m.type(), m.text()));
  p.on("pageerror", (e) => console.log("pageerror", e.stack));
  await p.goto(makeFile("d.html", sample(100)));
  await p.waitForTimeout(1500);
  console.log((await p.evaluate(() => document.body.innerText)).slice(0, 500));
  await b.close();
}, 60000);
