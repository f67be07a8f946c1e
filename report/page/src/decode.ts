// Reading the data blocks of a report file.

/** The bytes of base64 text; white space is passed over. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The text of a block: gzip in base64. */
export async function unpack(block: string): Promise<string> {
  const stream = new Blob([bytesOfBase64(block.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
