/** One step of our own migrations, as it stands in `drizzle/`: without a schema name, for a `search_path`. */
export interface Migration {
  /** The file's name without `.sql`; what `ddz_migrations` records. */
  readonly name: string;
  /** In order, each without its closing semicolon. */
  readonly statements: readonly string[];
}
