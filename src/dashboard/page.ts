import { html, raw } from 'hono/html';
import type { DashboardAssets } from './assets.js';

type Html = ReturnType<typeof html>;

/** The page that the front end fills. Values are escaped by the template. */
export function appPage(assets: DashboardAssets, basePath: string): Html {
  return document(assets, basePath, {
    title: 'duroxide',
    head: html`<meta name="ddz-base" content="${basePath}" />
      <script src="${basePath}/assets/${assets.script}" type="module"></script>`,
    body: html`<div id="app"></div>
      <noscript><p class="no-script">The dashboard needs JavaScript.</p></noscript>`,
  });
}

/** Where a viewer presents the token. Works without scripts. */
export function loginPage(
  assets: DashboardAssets,
  basePath: string,
  { to, refused }: { readonly to: string; readonly refused: boolean },
): Html {
  return document(assets, basePath, {
    title: 'Sign in · duroxide',
    head: html``,
    body: html`<main class="sign-in">
      <form method="post" action="${basePath}/login" class="card">
        <img src="${basePath}/assets/${assets.icon}" alt="" width="40" height="40" />
        <h1>Workflow dashboard</h1>
        <p class="quiet">This dashboard is protected. Give the token that it was started with.</p>
        <input type="hidden" name="to" value="${to}" />
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
        ${refused ? html`<p class="form-error" role="alert">That is not the token of this dashboard.</p>` : ''}
        <button class="button primary" type="submit">Sign in</button>
      </form>
    </main>`,
  });
}

/** A page that says one thing. */
export function plainPage(assets: DashboardAssets, basePath: string, title: string, text: string): Html {
  return document(assets, basePath, {
    title,
    head: html``,
    body: html`<main class="sign-in">
      <div class="card">
        <h1>${title}</h1>
        <p>${text}</p>
        <p><a href="${basePath}/">To the overview</a></p>
      </div>
    </main>`,
  });
}

function document(
  assets: DashboardAssets,
  basePath: string,
  { title, head, body }: { readonly title: string; readonly head: Html; readonly body: Html },
): Html {
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${basePath}/assets/${assets.icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${basePath}/assets/${assets.style}" />
        <script src="${basePath}/assets/${assets.theme}"></script>
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html>`;
}
