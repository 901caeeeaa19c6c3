import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { ResolvedOptions } from '../options.js';
import type { Access } from '../views.js';
import { TokenCheck } from './token.js';

/** How long a browser stays signed in, in seconds. */
const SESSION_SECONDS = 7 * 24 * 60 * 60;

/** Who may do what, by the token or by the callback of the server around us. */
export class SignIn {
  private readonly check: TokenCheck | undefined;

  constructor(private readonly options: ResolvedOptions) {
    this.check = options.token === undefined ? undefined : new TokenCheck(options.token);
  }

  /** Whether there is a token to sign in with. */
  get hasToken(): boolean {
    return this.check !== undefined;
  }

  async accessOf(c: Context): Promise<Access> {
    const granted = await this.granted(c);
    return granted === 'write' && this.options.readOnly ? 'read' : granted;
  }

  /** Whether it is the token; the browser is signed in then. */
  accept(c: Context, token: string): boolean {
    const { check } = this;
    if (!check?.isToken(token)) return false;
    setCookie(c, check.cookieName, check.cookieValue, {
      path: this.options.basePath || '/',
      httpOnly: true,
      // A link from a chat should open the page; what changes something has its own protection.
      sameSite: 'Lax',
      secure: new URL(c.req.url).protocol === 'https:',
      maxAge: SESSION_SECONDS,
    });
    return true;
  }

  private async granted(c: Context): Promise<Access> {
    if (this.options.access) return this.options.access(c.req.raw);
    const { check } = this;
    if (!check) return 'write';
    const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (bearer !== undefined) return check.isToken(bearer) ? 'write' : 'none';
    const session = getCookie(c, check.cookieName);
    return session !== undefined && check.isSession(session) ? 'write' : 'none';
  }
}
