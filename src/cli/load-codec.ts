import type { PayloadCodec } from '../provider/codec/payload-codec.js';
import type { GlobalOptions } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';
import { loadModule } from './load-module.js';

/**
 * The codec of `--codec` or `DUROXIDE_CODEC`: what a module exports as `codec`, as default, or as
 * its only codec. @throws CliError when it has none
 */
export async function loadCodec(options: GlobalOptions, io: CliIo): Promise<PayloadCodec | undefined> {
  const file = options.codec ?? io.env['DUROXIDE_CODEC'];
  if (file === undefined || file === '') return undefined;
  const exported = await loadModule(file, io);
  const { codec, default: byDefault } = exported as { readonly codec?: unknown; readonly default?: unknown };
  const codecs = Object.values(exported).filter(isCodec);
  const found = [codec, byDefault].find(isCodec) ?? (codecs.length === 1 ? codecs[0] : undefined);
  if (found) return found;
  const many = codecs.length === 0 ? 'no codec' : `${codecs.length} codecs, and none of them as codec or default`;
  throw new CliError(
    ExitCode.usage,
    `${file} exports ${many}; expected { name, encode(payload, { instanceId }), decode(data, { instanceId }) }`,
  );
}

function isCodec(value: unknown): value is PayloadCodec {
  if (typeof value !== 'object' || value === null) return false;
  const { name, encode, decode } = value as Partial<Record<keyof PayloadCodec, unknown>>;
  return typeof name === 'string' && typeof encode === 'function' && typeof decode === 'function';
}
