ALTER TABLE "ddz_schedules" ADD COLUMN "start_queue" text;--> statement-breakpoint
ALTER TABLE "ddz_schedules" ADD COLUMN "start_key" text;--> statement-breakpoint
ALTER TABLE "ddz_schedules" ADD COLUMN "start_priority" integer;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "ddz_migrations" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"applied_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "ddz_migrations" ("name", "kind", "applied_at") VALUES ('0004_schedule_queues', 'base', now());
