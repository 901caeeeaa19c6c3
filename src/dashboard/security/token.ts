import { createHmac, timingSafeEqual } from 'node:crypto';

/** What the token of a dashboard stands for: how it is compared and what the browser keeps instead of it. */
export class TokenCheck {
  /** Differs per token: two dashboards on one host name share their cookies, whatever their ports. */
  readonly cookieName: string;
  /** Made from the token, not the token: a stolen cookie ends with the token and opens nothing else. */
  readonly cookieValue: string;
  private readonly digest: Buffer;

  constructor(token: string) {
    const derive = (purpose: string) => createHmac('sha256', token).update(`duroxide-drizzle dashboard ${purpose}`);
    this.cookieName = `ddz_dashboard_${derive('cookie').digest('hex').slice(0, 8)}`;
    this.cookieValue = derive('session').digest('base64url');
    this.digest = digestOf(token);
  }

  isToken(given: string): boolean {
    return timingSafeEqual(digestOf(given), this.digest);
  }

  isSession(given: string): boolean {
    return timingSafeEqual(digestOf(given), digestOf(this.cookieValue));
  }
}

/** Of equal length whatever was given, as the comparison needs it. */
function digestOf(text: string): Buffer {
  return createHmac('sha256', 'compare').update(text).digest();
}
