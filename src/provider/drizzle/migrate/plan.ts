import type { Migration } from '../../../schema/migration.js';
import { builtInMigrations } from '../../../schema/migrations.generated.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { additionNames, notifyTriggerStatements, ownTableStatements, storedFunctionStatements } from './additions.js';
import { SchemaError } from './schema-error.js';
import type { Inspection, SchemaStatus } from './schema-status.js';

/** One thing that the migration transaction does. */
export interface Step {
  /** What the report says was done. */
  readonly what: string;
  /** Constant SQL, run in order. */
  readonly statements: readonly string[];
}

/** What somebody asked to have in a schema beside its base tables. */
export interface Additions {
  /** Our indexes (provider.md 3.4.13) in a schema that native made. */
  readonly adoptIndexes?: boolean | undefined;
  /** Our own tables (`ddz_…`) in a schema that native made. */
  readonly adoptTables?: boolean | undefined;
  /** Triggers that notify our listeners of rows which native enqueues; they cost commits. */
  readonly notifyTriggers?: boolean | undefined;
  /** The functions of `StoredFunctionProvider`, in a schema of ours; native's has its own. Updates them in place. */
  readonly storedFunctions?: boolean | undefined;
}

/** The kinds of rows in `ddz_migrations`. */
export type RecordKind = 'base' | 'tables' | 'addition' | 'hand-over';

/** What is missing, as SQL; empty when nothing is. The schema must not be refused. */
export function planSteps(
  inspection: Inspection,
  additions: Additions,
  migrations: readonly Migration[] = builtInMigrations,
): Step[] {
  const { status } = inspection;
  const byName = (names: readonly string[]) => migrations.filter(({ name }) => names.includes(name));
  const base = byName(status.pendingMigrations).map(({ name, statements }) =>
    recorded(status.schema, { what: name, statements }, 'base'),
  );
  const tables = byName(additions.adoptTables ? status.missingTables : []).map((migration) =>
    recorded(status.schema, { what: migration.name, statements: ownTableStatements(migration) }, 'tables'),
  );
  const steps = [...base, ...tables, ...plannedAdditions(inspection, additions)];
  return steps.length === 0 ? [] : [...preparation(inspection), ...steps];
}

function plannedAdditions({ status, recorded: names }: Inspection, additions: Additions): Step[] {
  const { schema } = status;
  const steps: Step[] = [];
  if (additions.notifyTriggers && !(status.notifyTriggers && names.has(additionNames.notifyTriggers))) {
    const statements = notifyTriggerStatements(schema);
    steps.push(recorded(schema, { what: additionNames.notifyTriggers, statements }, 'addition'));
  }
  if (additions.storedFunctions) steps.push(...storedFunctionSteps(status));
  // The indexes themselves are built afterwards, outside the transaction; recording the wish
  // first means that an interrupted build is noticed. A schema of ours has them from the start.
  if (additions.adoptIndexes && status.missingIndexes.length > 0 && !names.has(additionNames.indexes)) {
    steps.push(recorded(schema, { what: additionNames.indexes, statements: [] }, 'addition'));
  }
  return steps;
}

/**
 * Our stored functions, where they are missing or of another version.
 * @throws SchemaError when functions of somebody else's would be replaced
 */
export function storedFunctionSteps({ schema, origin, storedFunctions }: SchemaStatus): Step[] {
  if (origin === 'native' || origin === 'handedOver') {
    throw new SchemaError(
      'occupied',
      schema,
      "native workers need its functions as they are, so ours cannot be installed; StoredFunctionProvider uses native's there",
    );
  }
  if (storedFunctions === 'foreign') {
    throw new SchemaError(
      'occupied',
      schema,
      'it already has functions with names and arguments of the stored functions, and no record says that they are ' +
        'ours; use a schema of its own',
    );
  }
  if (storedFunctions === 'current') return [];
  const statements = storedFunctionStatements(schema);
  return [recorded(schema, { what: additionNames.storedFunctions, statements }, 'addition')];
}

/** @internal The schema, its bookkeeping, and the `search_path` that the migrations rely on. */
export function preparation({ schemaExists, hasOwnBookkeeping, status }: Inspection): Step[] {
  const schema = quoteSchemaName(status.schema);
  const steps: Step[] = [];
  // Only when it is missing: the statement needs CREATE on the database even with IF NOT EXISTS.
  if (!schemaExists) steps.push({ what: 'schema', statements: [`create schema ${schema}`] });
  steps.push({ what: 'search_path', statements: [`set local search_path to ${schema}, pg_temp`] });
  if (!hasOwnBookkeeping) {
    steps.push({
      what: 'ddz_migrations',
      statements: [
        `create table ${schema}.ddz_migrations (name text primary key, kind text not null, applied_at timestamptz not null)`,
      ],
    });
  }
  return steps;
}

/** A step that ends with its row in our bookkeeping. `what` must be a name of ours: it becomes SQL text. */
export function recorded(schema: string, step: Step, kind: RecordKind): Step {
  if (!/^\w+$/.test(step.what)) throw new RangeError(`not a name for a migration: ${JSON.stringify(step.what)}`);
  const record =
    `insert into ${quoteSchemaName(schema)}.ddz_migrations (name, kind, applied_at) ` +
    `values ('${step.what}', '${kind}', now()) on conflict (name) do update set applied_at = excluded.applied_at`;
  return { what: step.what, statements: [...step.statements, record] };
}
