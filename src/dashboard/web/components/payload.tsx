import { useState } from 'preact/hooks';
import type { PayloadView } from '../../views';
import { prettyJson, size } from '../format';
import { Icon } from './icon';

/** Characters after pretty-printing that are coloured; more would make the page slow. */
const MAX_COLOURED = 20_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** A payload: pretty-printed where it is whole JSON, cut where it is long, with a download of the whole. */
export function Payload({ payload, href, label }: { payload: PayloadView; href: string; label?: string }) {
  const json = payload.cut ? undefined : prettyJson(payload.text);
  return (
    <figure class="payload">
      <figcaption>
        <span class="payload-name">{label ?? payload.field}</span>
        {payload.cut && <span class="quiet">the first part of {size(payload.length)}</span>}
        <span class="grow" />
        {!payload.cut && <Copy text={payload.text} what={label ?? payload.field} />}
        <a
          class="icon-button"
          href={href}
          download
          title={`Download ${payload.field}`}
          aria-label={`Download ${payload.field}`}
        >
          <Icon name="download" />
        </a>
      </figcaption>
      <pre tabIndex={0}>
        <code>
          {payload.text === '' ? (
            <span class="quiet">(empty)</span>
          ) : json === undefined ? (
            payload.text
          ) : (
            coloured(json)
          )}
        </code>
      </pre>
      {payload.cut && (
        <a class="payload-more" href={href} download>
          <Icon name="download" /> Download the whole ({size(payload.length)})
        </a>
      )}
    </figure>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    });
  };
  if (!('clipboard' in navigator)) return null; // only on secure origins
  return (
    <button type="button" class="icon-button" onClick={copy} title={`Copy ${what}`} aria-label={`Copy ${what}`}>
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  );
}

/** Text nodes and spans: nothing in a payload can become markup. */
function coloured(text: string) {
  if (text.length > MAX_COLOURED) return text;
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon, word] = match;
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = string === undefined ? (word === undefined ? 'num' : 'word') : colon === undefined ? 'str' : 'prop';
    parts.push(
      <span key={match.index} class={`j-${kind}`}>
        {string ?? whole}
      </span>,
    );
    if (colon !== undefined) parts.push(colon);
    at = match.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}
