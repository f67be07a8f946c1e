import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RemoteSource, takeToken } from "../src/remote";
import { texts } from "../src/texts";

const asked: { url: string; init: RequestInit }[] = [];
let answer: () => Promise<Response>;

beforeEach(() => {
  asked.length = 0;
  answer = async () => Response.json({ format: 1, title: "t" });
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push({ url, init });
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

describe("the token", () => {
  test("is taken out of the address, and kept for the tab", () => {
    const kept = new Map<string, string>();
    const shown: string[] = [];
    vi.stubGlobal("sessionStorage", { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => kept.set(k, v) });
    vi.stubGlobal("history", { replaceState: (_: unknown, __: string, address: string) => shown.push(address) });
    vi.stubGlobal("location", { hash: "#token=a%2Fb&view=rows&q=x", pathname: "/", search: "" });
    expect(takeToken()).toBe("a/b");
    expect(shown).toEqual(["/#view=rows&q=x"]);
    vi.stubGlobal("location", { hash: "#view=rows", pathname: "/", search: "" });
    expect(takeToken()).toBe("a/b");
    expect(shown).toHaveLength(1);
  });
});

describe("questions", () => {
  test("are sent with the token", async () => {
    const source = await RemoteSource.open("secret");
    answer = async () => Response.json({ total: 7, rows: [] });
    expect((await source.rows({ filter: {}, sort: { key: "row" }, offset: 0, limit: 1 })).total).toBe(7);
    expect(asked.map((a) => [a.url, a.init.method])).toEqual([["view/catalog", "GET"], ["view/rows", "POST"]]);
    for (const a of asked) expect((a.init.headers as Record<string, string>)["Authorization"]).toBe("Bearer secret");
  });

  test("that fail say what to do", async () => {
    const source = await RemoteSource.open("secret");
    const fails = (r: () => Promise<Response>) => {
      answer = r;
      return source.counts({ filter: {}, facet: "label" }).then(() => "", (e: Error) => e.message);
    };
    expect(await fails(async () => new Response("", { status: 401 }))).toBe(texts.errors.token);
    expect(await fails(async () => Response.json({ error: "there is no facet" }, { status: 400 }))).toBe("there is no facet");
    expect(await fails(async () => Response.json({ error: { message: "deep" } }, { status: 400 }))).toBe("deep");
    expect(await fails(async () => new Response("", { status: 500 }))).toBe(texts.errors.status(500));
    expect(await fails(() => Promise.reject(new TypeError("Failed to fetch")))).toBe(texts.errors.noAnswer);
  });

  test("that are overtaken are cancelled, not failed", async () => {
    const source = await RemoteSource.open("secret");
    const control = new AbortController();
    answer = () => new Promise((_, reject) => control.signal.addEventListener("abort", () => reject(control.signal.reason)));
    const waiting = source.counts({ filter: {}, facet: "label" }, control.signal);
    control.abort();
    await expect(waiting).rejects.toBe(control.signal.reason);
    expect(asked.at(-1)!.init.signal).toBe(control.signal);
  });
});
