create schema "golden";
set local search_path to "golden", pg_temp;
create table "golden".ddz_migrations (name text primary key, kind text not null, applied_at timestamptz not null);
CREATE TABLE "executions" (
	"instance_id" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"status" text DEFAULT 'Running' NOT NULL,
	"output" text,
	"started_at" timestamp with time zone NOT NULL,
	"completed_at" timestamp with time zone,
	"duroxide_version_major" integer,
	"duroxide_version_minor" integer,
	"duroxide_version_patch" integer,
	CONSTRAINT "executions_pkey" PRIMARY KEY("instance_id","execution_id")
);
CREATE TABLE "history" (
	"instance_id" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"event_type" text NOT NULL,
	"event_data" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "history_pkey" PRIMARY KEY("instance_id","execution_id","event_id")
);
CREATE TABLE "instance_locks" (
	"instance_id" text PRIMARY KEY NOT NULL,
	"lock_token" text NOT NULL,
	"locked_until" bigint NOT NULL,
	"locked_at" bigint NOT NULL
);
CREATE TABLE "instances" (
	"instance_id" text PRIMARY KEY NOT NULL,
	"orchestration_name" text NOT NULL,
	"orchestration_version" text,
	"current_execution_id" bigint DEFAULT 1 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"parent_instance_id" text,
	"custom_status" text,
	"custom_status_version" integer DEFAULT 0 NOT NULL
);
CREATE TABLE "kv_delta" (
	"instance_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text,
	"last_updated_at_ms" bigint NOT NULL,
	CONSTRAINT "kv_delta_pkey" PRIMARY KEY("instance_id","key")
);
CREATE TABLE "kv_store" (
	"instance_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"last_updated_at_ms" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "kv_store_pkey" PRIMARY KEY("instance_id","key")
);
CREATE TABLE "orchestrator_queue" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"instance_id" text NOT NULL,
	"work_item" text NOT NULL,
	"visible_at" timestamp with time zone NOT NULL,
	"lock_token" text,
	"locked_until" bigint,
	"created_at" timestamp with time zone NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL
);
CREATE TABLE "sessions" (
	"session_id" text PRIMARY KEY NOT NULL,
	"worker_id" text NOT NULL,
	"locked_until" bigint NOT NULL,
	"last_activity_at" bigint NOT NULL
);
CREATE TABLE "worker_queue" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"work_item" text NOT NULL,
	"visible_at" timestamp with time zone NOT NULL,
	"lock_token" text,
	"locked_until" bigint,
	"created_at" timestamp with time zone NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"instance_id" text,
	"execution_id" bigint,
	"activity_id" bigint,
	"session_id" text,
	"tag" text
);
CREATE INDEX "idx_history_lookup" ON "history" USING btree ("instance_id","execution_id","event_id");
CREATE INDEX "idx_instance_locks_locked_until" ON "instance_locks" USING btree ("locked_until");
CREATE INDEX "idx_instances_parent" ON "instances" USING btree ("parent_instance_id");
CREATE INDEX "idx_kv_store_execution" ON "kv_store" USING btree ("instance_id","execution_id");
CREATE INDEX "idx_orch_visible" ON "orchestrator_queue" USING btree ("visible_at","lock_token");
CREATE INDEX "idx_orch_instance" ON "orchestrator_queue" USING btree ("instance_id");
CREATE INDEX "idx_orch_lock" ON "orchestrator_queue" USING btree ("lock_token") WHERE "orchestrator_queue"."lock_token" is not null;
CREATE INDEX "ddz_orch_ready" ON "orchestrator_queue" USING btree ("visible_at","id") WHERE "orchestrator_queue"."lock_token" is null;
CREATE INDEX "ddz_orch_expired" ON "orchestrator_queue" USING btree ("locked_until") WHERE "orchestrator_queue"."lock_token" is not null;
CREATE INDEX "idx_worker_visible" ON "worker_queue" USING btree ("visible_at","lock_token");
CREATE INDEX "idx_worker_available" ON "worker_queue" USING btree ("lock_token","id");
CREATE INDEX "idx_worker_activity_lookup" ON "worker_queue" USING btree ("instance_id","execution_id","activity_id");
CREATE INDEX "idx_worker_queue_session_id" ON "worker_queue" USING btree ("session_id") WHERE "worker_queue"."session_id" is not null;
CREATE INDEX "idx_worker_queue_tag" ON "worker_queue" USING btree ("tag") WHERE "worker_queue"."tag" is not null;
CREATE INDEX "ddz_worker_ready" ON "worker_queue" USING btree ("visible_at","id") WHERE "worker_queue"."lock_token" is null;
CREATE INDEX "ddz_worker_expired" ON "worker_queue" USING btree ("locked_until") WHERE "worker_queue"."lock_token" is not null;
insert into "golden".ddz_migrations (name, kind, applied_at) values ('0000_base', 'base', now()) on conflict (name) do update set applied_at = excluded.applied_at;
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
CREATE INDEX "ddz_history_archive_instance" ON "ddz_history_archive" USING btree ("instance_id","execution_id","event_id");
CREATE INDEX "ddz_executions_status" ON "executions" USING btree ("status","instance_id") WHERE "executions"."status" in ('Running', 'Failed');
CREATE INDEX "ddz_instances_created" ON "instances" USING btree ("created_at","instance_id");
CREATE INDEX "ddz_instances_name" ON "instances" USING btree ("orchestration_name","created_at");
CREATE INDEX "ddz_instances_prefix" ON "instances" USING btree ("instance_id" collate "C");
CREATE INDEX "ddz_instances_custom_status" ON "instances" USING btree (left("custom_status", 128) collate "C") WHERE "instances"."custom_status" is not null;
insert into "golden".ddz_migrations (name, kind, applied_at) values ('0001_pages_workers_resets', 'base', now()) on conflict (name) do update set applied_at = excluded.applied_at;
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
CREATE INDEX "ddz_schedules_next" ON "ddz_schedules" USING btree ("next_fire_ms");
insert into "golden".ddz_migrations (name, kind, applied_at) values ('0002_schedules', 'base', now()) on conflict (name) do update set applied_at = excluded.applied_at;
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
CREATE UNIQUE INDEX "ddz_queued_starts_instance" ON "ddz_queued_starts" USING btree ("instance_id") WHERE "ddz_queued_starts"."ended_ms" is null;
CREATE INDEX "ddz_queued_starts_waiting" ON "ddz_queued_starts" USING btree ("queue_id","priority" DESC NULLS FIRST,"id") WHERE "ddz_queued_starts"."admitted_ms" is null;
CREATE INDEX "ddz_queued_starts_waiting_key" ON "ddz_queued_starts" USING btree ("queue_id","start_key","priority" DESC NULLS FIRST,"id") WHERE "ddz_queued_starts"."admitted_ms" is null;
CREATE INDEX "ddz_queued_starts_running" ON "ddz_queued_starts" USING btree ("queue_id","start_key","id") WHERE "ddz_queued_starts"."admitted_ms" is not null and "ddz_queued_starts"."ended_ms" is null;
CREATE INDEX "ddz_queued_starts_admitted" ON "ddz_queued_starts" USING btree ("queue_id","admitted_ms") WHERE "ddz_queued_starts"."admitted_ms" is not null;
CREATE INDEX "ddz_queued_starts_admitted_key" ON "ddz_queued_starts" USING btree ("queue_id","start_key","admitted_ms") WHERE "ddz_queued_starts"."admitted_ms" is not null;
insert into "golden".ddz_migrations (name, kind, applied_at) values ('0003_start_queues', 'base', now()) on conflict (name) do update set applied_at = excluded.applied_at;
