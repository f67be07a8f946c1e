// A Source of what `erreval serve` answers over HTTP.

import type {
  Catalog, Counts, CountsQuery, ExportFormat, Filter, Histogram, HistogramQuery, Marked, MarkQuery, Outputs, OutputsQuery,
  Pairs, PairsQuery, RowDetail, RowQuery, RowsPage, RowsQuery, Sort, Source,
} from "./contract";
import { texts } from "./texts";

const tokenKey = "erreval-token";

/** The server does not know the token that it was asked with, or got none. */
export class TokenError extends Error {}

/** Keeps a token for this tab. */
export function keepToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

/** Takes the token out of the address, so that it is neither shown nor shared, and keeps it for this tab. */
export function takeToken(): string {
  const hash = location.hash.slice(1);
  const found = /^token=([^&]+)&?(.*)$/s.exec(hash);
  if (found) {
    keepToken(decodeURIComponent(found[1]!));
    history.replaceState(null, "", location.pathname + location.search + (found[2] ? "#" + found[2] : ""));
  }
  return sessionStorage.getItem(tokenKey) ?? "";
}

export class RemoteSource implements Source {
  private constructor(
    private readonly about: Catalog,
    private readonly token: string,
  ) {}

  static async open(token: string): Promise<RemoteSource> {
    return new RemoteSource((await (await send("catalog", token)).json()) as Catalog, token);
  }

  catalog(): Catalog {
    return this.about;
  }

  sampled(): boolean {
    return false;
  }

  counts(q: CountsQuery, signal?: AbortSignal): Promise<Counts> {
    return this.ask("counts", q, signal);
  }

  histogram(q: HistogramQuery, signal?: AbortSignal): Promise<Histogram> {
    return this.ask("histogram", q, signal);
  }

  rows(q: RowsQuery, signal?: AbortSignal): Promise<RowsPage> {
    return this.ask("rows", q, signal);
  }

  row(q: RowQuery, signal?: AbortSignal): Promise<RowDetail> {
    return this.ask("row", q, signal);
  }

  pairs(q: PairsQuery, signal?: AbortSignal): Promise<Pairs> {
    return this.ask("pairs", q, signal);
  }

  outputs(q: OutputsQuery, signal?: AbortSignal): Promise<Outputs> {
    return this.ask("outputs", q, signal);
  }

  marked(n: number, signal?: AbortSignal): Promise<Marked> {
    return this.ask("marked", { n }, signal);
  }

  mark(q: MarkQuery): Promise<Marked> {
    return this.ask("mark", q);
  }

  async export(q: { filter: Filter; sort: Sort; format: ExportFormat }): Promise<Blob> {
    return (await send("export", this.token, q)).blob();
  }

  private async ask<T>(name: string, q: unknown, signal?: AbortSignal): Promise<T> {
    return (await (await send(name, this.token, q, signal)).json()) as T;
  }
}

async function send(name: string, token: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Authorization: "Bearer " + token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch("view/" + name, {
      method: body === undefined ? "GET" : "POST",
      headers,
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Error(texts.errors.noAnswer);
  }
  if (response.ok) return response;
  if (response.status === 401 || response.status === 403) {
    throw new TokenError(texts.errors.token);
  }
  throw new Error(messageOf(await response.text()) || texts.errors.status(response.status));
}

/** The message of an error: {"error": "…"}, {"error": {"message": "…"}} or plain text. */
function messageOf(text: string): string {
  try {
    const body = JSON.parse(text) as { error?: string | { message?: string } };
    const e = body.error;
    return (typeof e === "string" ? e : e?.message) ?? text;
  } catch {
    return text.trim();
  }
}
