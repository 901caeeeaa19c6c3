/** Texts as native duroxide stores them (provider.md 2.2 to 2.4). */

const envelope = (eventId: number, sourceEventId: number | null, instance = 'hi', execution = 1) =>
  `{"event_id":${eventId},"source_event_id":${sourceEventId},"instance_id":"${instance}","execution_id":${execution},` +
  `"timestamp_ms":1796153213612,"duroxide_version":"0.1.30",`;

/** Payload tails by a name for the title; with the id of the scheduling event where there is one. */
const tails: readonly (readonly [name: string, tail: string, sourceEventId?: number])[] = [
  [
    'OrchestrationStarted of a root',
    '"type":"OrchestrationStarted","name":"Hi","version":"1.0.0","input":"{\\"name\\":\\"World\\"}","parent_instance":null,"parent_id":null}',
  ],
  [
    'OrchestrationStarted of a child that continued as new',
    '"type":"OrchestrationStarted","name":"Kid","version":"1.0.0","input":"1","parent_instance":"par","parent_id":2,"parent_execution_id":1,"carry_forward_events":[["mbox","\\"hello\\""]],"initial_custom_status":"cs0"}',
  ],
  ['ActivityScheduled', '"type":"ActivityScheduled","name":"Greet","input":"\\"World\\""}'],
  [
    'ActivityScheduled in a session',
    '"type":"ActivityScheduled","name":"Greet","input":"\\"s\\"","session_id":"sess-1"}',
  ],
  ['ActivityScheduled with a tag', '"type":"ActivityScheduled","name":"Greet","input":"\\"t\\"","tag":"gpu"}'],
  ['ActivityCompleted', '"type":"ActivityCompleted","result":"\\"Hello, World!\\""}', 2],
  [
    'ActivityFailed',
    '"type":"ActivityFailed","details":{"Application":{"kind":"ActivityFailed","message":"boom 7","retryable":false}}}',
    2,
  ],
  ['ActivityCancelRequested', '"type":"ActivityCancelRequested","reason":"dropped_future"}', 2],
  ['TimerCreated', '"type":"TimerCreated","fire_at_ms":1796153216486}'],
  ['TimerFired', '"type":"TimerFired","fire_at_ms":1796153216486}', 2],
  ['ExternalSubscribed', '"type":"ExternalSubscribed","name":"Go"}'],
  ['ExternalEvent', '"type":"ExternalEvent","name":"Go","data":"{\\"ok\\":true}"}'],
  ['ExternalSubscribedCancelled', '"type":"ExternalSubscribedCancelled","reason":"orchestration_terminal"}', 5],
  ['ExternalSubscribedPersistent', '"type":"ExternalSubscribedPersistent","name":"mbox"}'],
  ['ExternalEventPersistent', '"type":"ExternalEventPersistent","name":"mbox","data":"{\\"m\\":1}"}'],
  [
    'ExternalSubscribedPersistentCancelled',
    '"type":"ExternalSubscribedPersistentCancelled","reason":"dropped_future"}',
    2,
  ],
  ['OrchestrationChained', '"type":"OrchestrationChained","name":"Child","instance":"det-1","input":"{\\"d\\":1}"}'],
  [
    'SubOrchestrationScheduled with a derived id',
    '"type":"SubOrchestrationScheduled","name":"Child","instance":"sub::2","input":"{\\"p\\":1}"}',
  ],
  [
    'SubOrchestrationScheduled with an explicit id',
    '"type":"SubOrchestrationScheduled","name":"Child","instance":"explicit-1","input":"2"}',
  ],
  ['SubOrchestrationCompleted', '"type":"SubOrchestrationCompleted","result":"\\"child2 2\\""}', 4],
  [
    'SubOrchestrationFailed',
    '"type":"SubOrchestrationFailed","details":{"Application":{"kind":"OrchestrationFailed","message":"child bad","retryable":false}}}',
    4,
  ],
  ['SubOrchestrationCancelRequested', '"type":"SubOrchestrationCancelRequested","reason":"dropped_future"}', 2],
  ['OrchestrationContinuedAsNew', '"type":"OrchestrationContinuedAsNew","input":"1"}'],
  ['OrchestrationCancelRequested', '"type":"OrchestrationCancelRequested","reason":"stop it"}'],
  ['OrchestrationCompleted', '"type":"OrchestrationCompleted","output":"\\"Hello, World!\\""}'],
  [
    'OrchestrationFailed by cancellation',
    '"type":"OrchestrationFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"stop it"}},"message":"","retryable":false}}}',
  ],
  [
    'OrchestrationFailed by nondeterminism',
    '"type":"OrchestrationFailed","details":{"Configuration":{"kind":"Nondeterminism","resource":"","message":"schedule mismatch: ..."}}}',
  ],
  [
    'OrchestrationFailed by nondeterminism without a message',
    '"type":"OrchestrationFailed","details":{"Configuration":{"kind":"Nondeterminism","resource":"Hi","message":null}}}',
  ],
  [
    'OrchestrationFailed by infrastructure',
    '"type":"OrchestrationFailed","details":{"Infrastructure":{"operation":"ack_orchestration_item","message":"gone","retryable":true}}}',
  ],
  [
    'OrchestrationFailed by a panic',
    '"type":"OrchestrationFailed","details":{"Application":{"kind":"Panicked","message":"oh","retryable":false}}}',
  ],
  [
    'OrchestrationFailed as poison',
    '"type":"OrchestrationFailed","details":{"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Orchestration":{"instance":"po","execution_id":1}},"message":"[]"}}}',
  ],
  [
    'OrchestrationFailed as poison of an activity',
    '"type":"OrchestrationFailed","details":{"Poison":{"attempt_count":21,"max_attempts":10,"message_type":{"Activity":{"instance":"pa","execution_id":1,"activity_name":"Greet","activity_id":2}},"message":"{\\"ActivityExecute\\":{\\"instance\\":\\"pa\\",\\"execution_id\\":1,\\"id\\":2,\\"name\\":\\"Greet\\",\\"input\\":\\"\\\\\\"POISON\\\\\\"\\"}}"}}}',
  ],
  [
    'OrchestrationFailed as an unreadable history',
    '"type":"OrchestrationFailed","details":{"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"FailedDeserialization":{"instance":"corrupt","execution_id":1,"error":"Failed to deserialize history: unknown variant ..."}},"message":"Failed to deserialize history: unknown variant ..."}}}',
  ],
  ['CustomStatusUpdated', '"type":"CustomStatusUpdated","status":"round 0"}'],
  ['CustomStatusUpdated to none', '"type":"CustomStatusUpdated","status":null}'],
  ['KeyValueSet', '"type":"KeyValueSet","key":"k0","value":"v0","last_updated_at_ms":1796153218103}'],
  ['KeyValueCleared', '"type":"KeyValueCleared","key":"a"}'],
  ['KeyValuesCleared', '"type":"KeyValuesCleared"}'],
];

/** Stored events: name and text. */
export const eventSamples: readonly (readonly [name: string, text: string])[] = tails.map(
  ([name, tail, source = null], index) => [name, envelope(index + 1, source) + tail] as const,
);

/** Work items in the compact layout, fields in declaration order: what we write must be the same bytes. */
export const compactItems: readonly (readonly [name: string, text: string])[] = [
  [
    'StartOrchestration',
    '{"StartOrchestration":{"instance":"q-start","orchestration":"Nope","input":"{\\"a\\":1}","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}',
  ],
  [
    'ActivityExecute',
    '{"ActivityExecute":{"instance":"pa","execution_id":1,"id":2,"name":"Greet","input":"\\"POISON\\""}}',
  ],
  [
    'ActivityExecute in a session with a tag',
    '{"ActivityExecute":{"instance":"pa","execution_id":1,"id":2,"name":"Greet","input":"1","session_id":"s","tag":"gpu"}}',
  ],
  [
    'ActivityCompleted',
    '{"ActivityCompleted":{"instance":"hi","execution_id":1,"id":2,"result":"\\"Hello, World!\\""}}',
  ],
  [
    'ActivityFailed',
    '{"ActivityFailed":{"instance":"fail","execution_id":1,"id":2,"details":{"Application":{"kind":"ActivityFailed","message":"boom 7","retryable":false}}}}',
  ],
  ['TimerFired', '{"TimerFired":{"instance":"race","execution_id":1,"id":3,"fire_at_ms":1796153217382}}'],
  ['ExternalRaised', '{"ExternalRaised":{"instance":"q-ev","name":"Go","data":"{\\"ok\\":true}"}}'],
  ['QueueMessage', '{"QueueMessage":{"instance":"q-ev","name":"mbox","data":"{\\"m\\":1}"}}'],
  ['CancelInstance', '{"CancelInstance":{"instance":"q-ev","reason":"why not"}}'],
  [
    'SubOrchCompleted',
    '{"SubOrchCompleted":{"parent_instance":"parent","parent_execution_id":1,"parent_id":4,"result":"\\"child2 2\\""}}',
  ],
  [
    'SubOrchFailed',
    '{"SubOrchFailed":{"parent_instance":"wait","parent_execution_id":1,"parent_id":7,"details":{"Application":{"kind":{"Cancelled":{"reason":"parent canceled"}},"message":"","retryable":false}}}}',
  ],
];

/** Work items in the layout of `jsonb`, as native's acknowledgement stores them. */
export const jsonbItems: readonly (readonly [name: string, text: string])[] = [
  [
    'StartOrchestration of a child',
    '{"StartOrchestration": {"input": "{\\"p\\":1}", "version": null, "instance": "parent::sub::2", "parent_id": 2, "execution_id": 1, "orchestration": "Child", "parent_instance": "parent", "parent_execution_id": 1}}',
  ],
  [
    'StartOrchestration, detached, with a version',
    '{"StartOrchestration": {"input": "{\\"d\\":2}", "version": "1.0.0", "instance": "det-2", "parent_id": null, "execution_id": 1, "orchestration": "Child", "parent_instance": null}}',
  ],
  [
    'ActivityExecute',
    '{"ActivityExecute": {"id": 2, "name": "Greet", "input": "\\"World\\"", "instance": "hi", "execution_id": 1}}',
  ],
  [
    'ActivityExecute in a session',
    '{"ActivityExecute": {"id": 2, "name": "Greet", "input": "\\"s\\"", "instance": "sess", "session_id": "sess-1", "execution_id": 1}}',
  ],
  [
    'ActivityExecute with a tag',
    '{"ActivityExecute": {"id": 4, "tag": "gpu", "name": "Greet", "input": "\\"t\\"", "instance": "sess", "execution_id": 1}}',
  ],
  ['TimerFired', '{"TimerFired": {"id": 3, "instance": "race", "fire_at_ms": 1796153217382, "execution_id": 1}}'],
  ['CancelInstance', '{"CancelInstance": {"reason": "parent canceled", "instance": "wait::sub::7"}}'],
  [
    'SubOrchCompleted',
    '{"SubOrchCompleted": {"result": "\\"child2 2\\"", "parent_id": 4, "parent_instance": "parent", "parent_execution_id": 1}}',
  ],
  [
    'SubOrchFailed',
    '{"SubOrchFailed": {"details": {"Application": {"kind": {"Cancelled": {"reason": "parent canceled"}}, "message": "", "retryable": false}}, "parent_id": 7, "parent_instance": "wait", "parent_execution_id": 1}}',
  ],
  [
    'ContinueAsNew with carried messages',
    '{"ContinueAsNew": {"input": "1", "version": null, "instance": "can", "orchestration": "Can", "carry_forward_events": [["mbox", "\\"carried\\""], ["other", "\\"left\\""]], "initial_custom_status": "round 0"}}',
  ],
  [
    'ContinueAsNew with a version',
    '{"ContinueAsNew": {"input": "1", "version": "1.0.0", "instance": "canv", "orchestration": "CanV", "carry_forward_events": []}}',
  ],
  [
    'ContinueAsNew of a child',
    '{"ContinueAsNew": {"input": "1", "version": null, "instance": "kid", "parent_id": 2, "orchestration": "Kid", "parent_instance": "par", "parent_execution_id": 1, "carry_forward_events": [["mb", "\\"hello\\""]], "initial_custom_status": "cs0"}}',
  ],
];

/** Display texts of error details, as `executions.output` holds them. */
export const displaySamples: readonly (readonly [json: string, text: string])[] = [
  [
    '{"Infrastructure":{"operation":"ack_worker","message":"gone","retryable":true}}',
    'infrastructure:ack_worker: gone',
  ],
  ['{"Configuration":{"kind":"Nondeterminism","resource":"Hi","message":"was A"}}', 'nondeterministic: was A'],
  ['{"Configuration":{"kind":"Nondeterminism","resource":"Hi","message":null}}', 'nondeterministic in Hi'],
  ['{"Application":{"kind":"ActivityFailed","message":"boom","retryable":false}}', 'boom'],
  ['{"Application":{"kind":"OrchestrationFailed","message":"bad","retryable":true}}', 'bad'],
  ['{"Application":{"kind":"Panicked","message":"oh","retryable":false}}', 'orchestration panicked: oh'],
  ['{"Application":{"kind":{"Cancelled":{"reason":"stop it"}},"message":"","retryable":false}}', 'canceled: stop it'],
  [
    '{"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Orchestration":{"instance":"po","execution_id":1}},"message":"[]"}}',
    'poison: orchestration po exceeded 11 attempts (max 10)',
  ],
  [
    '{"Poison":{"attempt_count":21,"max_attempts":10,"message_type":{"Activity":{"instance":"pa","execution_id":1,"activity_name":"Greet","activity_id":2}},"message":"{}"}}',
    'poison: activity Greet#2 exceeded 21 attempts (max 10)',
  ],
  [
    '{"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"FailedDeserialization":{"instance":"c","execution_id":1,"error":"no"}},"message":"no"}}',
    'poison: orchestration c history deserialization failed after 11 attempts (max 10): no',
  ],
];
