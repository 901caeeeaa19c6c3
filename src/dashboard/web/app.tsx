import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { addressOf, ApiError, BASE } from './api';
import { Modal } from './components/dialog';
import { Icon } from './components/icon';
import { Empty } from './components/states';
import { Toast } from './components/toast';
import { connection, troubleText } from './live';
import { InstancePage } from './pages/instance';
import { InstancesPage } from './pages/instances';
import { OverviewPage } from './pages/overview';
import { QueuesPage } from './pages/queues';
import { SchedulesPage } from './pages/schedules';
import { Link, navigate, path } from './router';
import { loadSession, session } from './session';
import { ThemeButton } from './theme';

const helpIsOpen = signal(false);

export function App() {
  useEffect(() => {
    loadSession().catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error; // an ApiError is shown by the page, which fails, too
    });
    document.addEventListener('keydown', onShortcut);
    return () => document.removeEventListener('keydown', onShortcut);
  }, []);
  return (
    <>
      <a class="skip" href="#content">
        To the content
      </a>
      <TopBar />
      <Trouble />
      <Page />
      <footer class="foot">
        <span>duroxide-drizzle {session.value?.version}</span>
        <span>{session.value?.store}</span>
      </footer>
      <Toast />
      {helpIsOpen.value && <Help />}
    </>
  );
}

function Page() {
  switch (path.value) {
    case '/':
      return <OverviewPage />;
    case '/instances':
      return <InstancesPage />;
    case '/instance':
      return <InstancePage />;
    case '/schedules':
      return <SchedulesPage />;
    case '/queues':
      return <QueuesPage />;
    default:
      return (
        <main class="page" id="content">
          <Empty title="There is no such page" />
        </main>
      );
  }
}

function TopBar() {
  const current = path.value;
  return (
    <header class="top">
      <Link to={addressOf('/')} class="brand" aria-label="duroxide, overview">
        <span class="logo" aria-hidden="true">
          <Icon name="flow" size={18} />
        </span>
        <span class="brand-name">duroxide</span>
      </Link>
      <nav aria-label="Pages">
        <Link to={addressOf('/')} class="nav" aria-current={current === '/' ? 'page' : undefined}>
          Overview
        </Link>
        <Link
          to={addressOf('/instances')}
          class="nav"
          aria-current={current.startsWith('/instance') ? 'page' : undefined}
        >
          Instances
        </Link>
        <Link to={addressOf('/schedules')} class="nav" aria-current={current === '/schedules' ? 'page' : undefined}>
          Schedules
        </Link>
        <Link to={addressOf('/queues')} class="nav" aria-current={current === '/queues' ? 'page' : undefined}>
          Queues
        </Link>
      </nav>
      <span class="grow" />
      {session.value?.access === 'read' && <span class="chip-note">read-only</span>}
      <Live />
      <button
        type="button"
        class="icon-button keyboard-help"
        onClick={() => (helpIsOpen.value = true)}
        title="Keyboard (?)"
        aria-label="Keyboard shortcuts"
      >
        <Icon name="help" />
      </button>
      <ThemeButton />
    </header>
  );
}

const LIVE_WORDS = {
  off: 'Paused',
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
  trouble: 'No database',
} as const;

function Live() {
  return (
    <span class={`live ${connection.value}`} role="status">
      <span class="live-mark" aria-hidden="true" />
      <span class="live-word">{LIVE_WORDS[connection.value]}</span>
    </span>
  );
}

function Trouble() {
  if (connection.value !== 'trouble') return null;
  return (
    <p class="banner" role="alert">
      <Icon name="warning" /> {troubleText.value} What you see may be old; the page goes on trying.
    </p>
  );
}

const SHORTCUTS = [
  ['/', 'Find an instance'],
  ['o', 'Overview'],
  ['i', 'Instances'],
  ['s', 'Schedules'],
  ['q', 'Queues'],
  ['↑ ↓', 'From row to row; Enter opens'],
  ['← →', 'From tab to tab'],
  ['Esc', 'Close a dialog'],
  ['?', 'This help'],
] as const;

function Help() {
  return (
    <Modal close={() => (helpIsOpen.value = false)} labelledBy="help-title">
      <h2 id="help-title">Keyboard</h2>
      <dl class="shortcuts">
        {SHORTCUTS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={() => (helpIsOpen.value = false)}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** Single keys, but never while somebody types or a dialog is open. */
function onShortcut(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.target instanceof Element && event.target.closest('input, textarea, select')) return;
  if (event.key === '/') {
    event.preventDefault();
    if (path.value !== '/instances') navigate(addressOf('/instances'));
    requestAnimationFrame(() => document.getElementById('find')?.focus());
  } else if (event.key === 'o') navigate(`${BASE}/`);
  else if (event.key === 'i') navigate(addressOf('/instances'));
  else if (event.key === 's') navigate(addressOf('/schedules'));
  else if (event.key === 'q') navigate(addressOf('/queues'));
  else if (event.key === '?') helpIsOpen.value = true;
}
