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
--> statement-breakpoint
CREATE TABLE "history" (
	"instance_id" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"event_type" text NOT NULL,
	"event_data" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "history_pkey" PRIMARY KEY("instance_id","execution_id","event_id")
);
--> statement-breakpoint
CREATE TABLE "instance_locks" (
	"instance_id" text PRIMARY KEY NOT NULL,
	"lock_token" text NOT NULL,
	"locked_until" bigint NOT NULL,
	"locked_at" bigint NOT NULL
);
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TABLE "kv_delta" (
	"instance_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text,
	"last_updated_at_ms" bigint NOT NULL,
	CONSTRAINT "kv_delta_pkey" PRIMARY KEY("instance_id","key")
);
--> statement-breakpoint
CREATE TABLE "kv_store" (
	"instance_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	"execution_id" bigint NOT NULL,
	"last_updated_at_ms" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "kv_store_pkey" PRIMARY KEY("instance_id","key")
);
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TABLE "sessions" (
	"session_id" text PRIMARY KEY NOT NULL,
	"worker_id" text NOT NULL,
	"locked_until" bigint NOT NULL,
	"last_activity_at" bigint NOT NULL
);
--> statement-breakpoint
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
--> statement-breakpoint
CREATE INDEX "idx_history_lookup" ON "history" USING btree ("instance_id","execution_id","event_id");--> statement-breakpoint
CREATE INDEX "idx_instance_locks_locked_until" ON "instance_locks" USING btree ("locked_until");--> statement-breakpoint
CREATE INDEX "idx_instances_parent" ON "instances" USING btree ("parent_instance_id");--> statement-breakpoint
CREATE INDEX "idx_kv_store_execution" ON "kv_store" USING btree ("instance_id","execution_id");--> statement-breakpoint
CREATE INDEX "idx_orch_visible" ON "orchestrator_queue" USING btree ("visible_at","lock_token");--> statement-breakpoint
CREATE INDEX "idx_orch_instance" ON "orchestrator_queue" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "idx_orch_lock" ON "orchestrator_queue" USING btree ("lock_token") WHERE "orchestrator_queue"."lock_token" is not null;--> statement-breakpoint
CREATE INDEX "ddz_orch_ready" ON "orchestrator_queue" USING btree ("visible_at","id") WHERE "orchestrator_queue"."lock_token" is null;--> statement-breakpoint
CREATE INDEX "ddz_orch_expired" ON "orchestrator_queue" USING btree ("locked_until") WHERE "orchestrator_queue"."lock_token" is not null;--> statement-breakpoint
CREATE INDEX "idx_worker_visible" ON "worker_queue" USING btree ("visible_at","lock_token");--> statement-breakpoint
CREATE INDEX "idx_worker_available" ON "worker_queue" USING btree ("lock_token","id");--> statement-breakpoint
CREATE INDEX "idx_worker_activity_lookup" ON "worker_queue" USING btree ("instance_id","execution_id","activity_id");--> statement-breakpoint
CREATE INDEX "idx_worker_queue_session_id" ON "worker_queue" USING btree ("session_id") WHERE "worker_queue"."session_id" is not null;--> statement-breakpoint
CREATE INDEX "idx_worker_queue_tag" ON "worker_queue" USING btree ("tag") WHERE "worker_queue"."tag" is not null;--> statement-breakpoint
CREATE INDEX "ddz_worker_ready" ON "worker_queue" USING btree ("visible_at","id") WHERE "worker_queue"."lock_token" is null;--> statement-breakpoint
CREATE INDEX "ddz_worker_expired" ON "worker_queue" USING btree ("locked_until") WHERE "worker_queue"."lock_token" is not null;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "ddz_migrations" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"applied_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "ddz_migrations" ("name", "kind", "applied_at") VALUES ('0000_base', 'base', now());
