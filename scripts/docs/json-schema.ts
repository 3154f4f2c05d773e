/** The part of JSON Schema draft 7 that the configuration needs. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  required?: string[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  $schema?: string;
  $id?: string;
  /** What a value must be, in the words of Berth's own error message. */
  $comment?: string;
}
