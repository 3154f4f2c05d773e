/** Of the documents that commands print with `-o json`. Changes when the meaning of a field changes; fields may be added. */
export const apiVersion = 'berth/v1';
