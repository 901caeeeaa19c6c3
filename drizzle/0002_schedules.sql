CREATE TABLE "ddz_schedules" (
	"schedule_id" text PRIMARY KEY NOT NULL,
	"orchestration" text NOT NULL,
	"version" text,
	"input" text NOT NULL,
	"cron" text,
	"time_zone" text NOT NULL,
	"every_ms" bigint,
	"anchor_ms" bigint NOT NULL,
	"catch_up" text NOT NULL,
	"max_catch_up" integer NOT NULL,
	"grace_ms" bigint NOT NULL,
	"overlap" text NOT NULL,
	"is_paused" boolean NOT NULL,
	"problem" text,
	"next_fire_ms" bigint,
	"last_fire_ms" bigint,
	"last_instance" text,
	"fired_count" bigint NOT NULL,
	"overlap_count" bigint NOT NULL,
	"created_ms" bigint NOT NULL,
	"updated_ms" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "ddz_schedules_next" ON "ddz_schedules" USING btree ("next_fire_ms");
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "ddz_migrations" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"applied_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "ddz_migrations" ("name", "kind", "applied_at") VALUES ('0002_schedules', 'base', now());
