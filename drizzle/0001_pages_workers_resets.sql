CREATE TABLE "ddz_history_archive" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"instance_id" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"event_type" text NOT NULL,
	"event_data" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"archived_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ddz_workers" (
	"runtime_id" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"package_version" text NOT NULL,
	"orchestration_slots_in_use" integer NOT NULL,
	"orchestration_slots" integer NOT NULL,
	"activity_slots_in_use" integer NOT NULL,
	"activity_slots" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"last_seen_ms" bigint NOT NULL,
	"is_stopped" boolean DEFAULT false NOT NULL,
	"counters" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "ddz_history_archive_instance" ON "ddz_history_archive" USING btree ("instance_id","execution_id","event_id");--> statement-breakpoint
CREATE INDEX "ddz_executions_status" ON "executions" USING btree ("status","instance_id") WHERE "executions"."status" in ('Running', 'Failed');--> statement-breakpoint
CREATE INDEX "ddz_instances_created" ON "instances" USING btree ("created_at","instance_id");--> statement-breakpoint
CREATE INDEX "ddz_instances_name" ON "instances" USING btree ("orchestration_name","created_at");--> statement-breakpoint
CREATE INDEX "ddz_instances_prefix" ON "instances" USING btree ("instance_id" collate "C");--> statement-breakpoint
CREATE INDEX "ddz_instances_custom_status" ON "instances" USING btree (left("custom_status", 128) collate "C") WHERE "instances"."custom_status" is not null;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "ddz_migrations" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"applied_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "ddz_migrations" ("name", "kind", "applied_at") VALUES ('0001_pages_workers_resets', 'base', now());
