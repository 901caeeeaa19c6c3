import type { ErrorView } from '../views';

/** The mount point, as the server wrote it into the page. */
export const BASE = document.querySelector<HTMLMetaElement>('meta[name="ddz-base"]')?.content ?? '';

/** What the server says no with. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** Address of something below the mount point; values that are absent stay away. */
export function addressOf(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return BASE + path + (text === '' ? '' : `?${text}`);
}

/** @throws ApiError */
export function getJson<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return request<T>(addressOf(path, query), signal ? { signal } : {});
}

/** Changes something. @throws ApiError */
export function postJson(path: string, body: unknown): Promise<unknown> {
  return request(addressOf(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-duroxide-dashboard': '1' },
    body: JSON.stringify(body),
  });
}

async function request<T>(address: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, { ...init, credentials: 'same-origin' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The dashboard’s server does not answer.');
  }
  if (response.ok) return (await response.json()) as T;
  if (response.status === 401) signIn();
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorView;
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, 'no_json', `The server answered with status ${response.status}.`);
  }
}

/** The token is asked for again; the page comes back afterwards. */
function signIn(): void {
  const here = location.pathname.slice(BASE.length) + location.search;
  location.assign(addressOf('/login', { to: here }));
}
