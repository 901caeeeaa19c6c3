import { postJson } from '../api';
import { Confirm } from './dialog';
import { toast } from './toast';

/** What is asked before something is done to a row of a list. */
export interface Question {
  readonly title: string;
  readonly action: string;
  /** @defaultValue 'primary' */
  readonly tone?: 'primary' | 'danger';
  /** What becomes of it, behind its id. */
  readonly text: string;
  readonly done: string;
}

interface RowQuestionProps {
  readonly question: Question;
  /** Where the answer goes, below `/api/actions/`. */
  readonly action: string;
  readonly id: string;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Asks, does it, says so, and loads the list again. */
export function RowQuestion({ question, action, id, reload, close }: RowQuestionProps) {
  const run = async () => {
    await postJson(`/api/actions/${action}`, { id });
    toast(question.done);
    reload();
  };
  return (
    <Confirm title={question.title} action={question.action} tone={question.tone ?? 'primary'} run={run} close={close}>
      <p>
        <span class="mono breakable">{id}</span> {question.text}
      </p>
    </Confirm>
  );
}
