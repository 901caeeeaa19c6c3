CREATE TABLE "ddz_queued_starts" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"instance_id" text NOT NULL,
	"queue_id" text NOT NULL,
	"start_key" text NOT NULL,
	"priority" integer NOT NULL,
	"work_item" text,
	"messages" text[],
	"enqueued_ms" bigint NOT NULL,
	"admitted_ms" bigint,
	"ended_ms" bigint
);
--> statement-breakpoint
CREATE TABLE "ddz_start_queues" (
	"queue_id" text PRIMARY KEY NOT NULL,
	"concurrency" integer,
	"concurrency_per_key" integer,
	"rate_limit" integer,
	"rate_period_ms" bigint,
	"key_rate_limit" integer,
	"key_rate_period_ms" bigint,
	"is_paused" boolean NOT NULL,
	"created_ms" bigint NOT NULL,
	"updated_ms" bigint NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "ddz_queued_starts_instance" ON "ddz_queued_starts" USING btree ("instance_id") WHERE "ddz_queued_starts"."ended_ms" is null;--> statement-breakpoint
CREATE INDEX "ddz_queued_starts_waiting" ON "ddz_queued_starts" USING btree ("queue_id","priority" DESC NULLS FIRST,"id") WHERE "ddz_queued_starts"."admitted_ms" is null;--> statement-breakpoint
CREATE INDEX "ddz_queued_starts_waiting_key" ON "ddz_queued_starts" USING btree ("queue_id","start_key","priority" DESC NULLS FIRST,"id") WHERE "ddz_queued_starts"."admitted_ms" is null;--> statement-breakpoint
CREATE INDEX "ddz_queued_starts_running" ON "ddz_queued_starts" USING btree ("queue_id","start_key","id") WHERE "ddz_queued_starts"."admitted_ms" is not null and "ddz_queued_starts"."ended_ms" is null;--> statement-breakpoint
CREATE INDEX "ddz_queued_starts_admitted" ON "ddz_queued_starts" USING btree ("queue_id","admitted_ms") WHERE "ddz_queued_starts"."admitted_ms" is not null;--> statement-breakpoint
CREATE INDEX "ddz_queued_starts_admitted_key" ON "ddz_queued_starts" USING btree ("queue_id","start_key","admitted_ms") WHERE "ddz_queued_starts"."admitted_ms" is not null;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "ddz_migrations" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"applied_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "ddz_migrations" ("name", "kind", "applied_at") VALUES ('0003_start_queues', 'base', now());
