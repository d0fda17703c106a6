BEGIN TRANSACTION;
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO "alembic_version" VALUES('e43177bfe90b');
CREATE TABLE assignment (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	duedate DATETIME, 
	course_id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	FOREIGN KEY(course_id) REFERENCES course (id)
);
INSERT INTO "assignment" VALUES('caaf50f89216497fbb77ad4b9a422b52','ps1','2027-01-31 18:00:00.000000','roofline');
CREATE TABLE base_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	notebook_id VARCHAR(32) NOT NULL, 
	type VARCHAR(50), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id, type), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "base_cell" VALUES('b742a4f8bd9b49f2999e0c7053e34b9e','ps1-ridge-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('78a536c80ae2458e92a330345ded74b7','ps1-time-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('120b53865fcf4db182c6ccde3f018b49','ps1-bound-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('1755122717be407a8e0f59ed0792c107','ps1-order-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('482834b2b9034eeeb3a7ae360dee0d1f','ps1-chain-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('7edd79003f474473bbe6c52cb0395655','ps1-mine-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('22f808b0fdfb4354ab2b06be8eef2400','ps1-attainable-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('b824046c3b4d4463b42190808fed9a7c','ps1-bracket-check','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('17f759778755459c88d34ec8eb2787cb','ps1-paragraph','c53189f13ed74521aa0ee9e6f0a7b360','GradeCell');
INSERT INTO "base_cell" VALUES('5cabe3a7176a468ca2f194092d59ac84','ps1-me','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('1bf2fd592e8e4534bc4b81229df014eb','ps1-ridge','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('78be934222eb4728ad25c76af6e41708','ps1-time','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('2e1f04b48128409f9f479d0bb4e7500e','ps1-bound','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('6b49b0f635e540dcab4a3a228eeb9d7e','ps1-order','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('47f0cd2cfa0346ac947f3f275454c1b7','ps1-chain','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('c46749d028594546bad22c8180c376da','ps1-mine','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('d60f91519162445a85beb5b57caf6bad','ps1-attainable','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('fa4cb4c5f12644e596a5f6720159fb4d','ps1-bracket','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
INSERT INTO "base_cell" VALUES('17b6e0930ecc4bb8a270d926e88f2bf7','ps1-paragraph','c53189f13ed74521aa0ee9e6f0a7b360','SolutionCell');
CREATE TABLE comment (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_comment TEXT, 
	manual_comment TEXT, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "comment" VALUES('39b415b8f5744f2e9e5d241ac1ea2a5d','3ae39f05c9f74dc082af18df407f685c','5cabe3a7176a468ca2f194092d59ac84',NULL,NULL);
INSERT INTO "comment" VALUES('b4cb4d0d83ae424ab3d0636de14debf7','3ae39f05c9f74dc082af18df407f685c','1bf2fd592e8e4534bc4b81229df014eb',NULL,NULL);
INSERT INTO "comment" VALUES('574135529fe646979b917ae449ff01b7','3ae39f05c9f74dc082af18df407f685c','78be934222eb4728ad25c76af6e41708',NULL,NULL);
INSERT INTO "comment" VALUES('c72d16bc9b7f40eb812fdd1c19dbb277','3ae39f05c9f74dc082af18df407f685c','2e1f04b48128409f9f479d0bb4e7500e',NULL,NULL);
INSERT INTO "comment" VALUES('9f57979dd9a441179ad5edf94ce8c5d6','3ae39f05c9f74dc082af18df407f685c','6b49b0f635e540dcab4a3a228eeb9d7e',NULL,NULL);
INSERT INTO "comment" VALUES('db8ab3786c3140ca8168b982544247a7','3ae39f05c9f74dc082af18df407f685c','47f0cd2cfa0346ac947f3f275454c1b7',NULL,NULL);
INSERT INTO "comment" VALUES('393b38a4ed5c447c8a2267cbebda7118','3ae39f05c9f74dc082af18df407f685c','c46749d028594546bad22c8180c376da',NULL,NULL);
INSERT INTO "comment" VALUES('f91e2a1417c84b3aa4763a7df8ac7138','3ae39f05c9f74dc082af18df407f685c','d60f91519162445a85beb5b57caf6bad',NULL,NULL);
INSERT INTO "comment" VALUES('d0c9d058db27444ea398fb8a3d6763a9','3ae39f05c9f74dc082af18df407f685c','fa4cb4c5f12644e596a5f6720159fb4d',NULL,NULL);
INSERT INTO "comment" VALUES('b514ad456c0d4b319a53410ae627f404','3ae39f05c9f74dc082af18df407f685c','17b6e0930ecc4bb8a270d926e88f2bf7',NULL,'Say where $I$ comes from.');
CREATE TABLE course (
	id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (id)
);
INSERT INTO "course" VALUES('default_course');
INSERT INTO "course" VALUES('roofline');
CREATE TABLE grade (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_score FLOAT, 
	manual_score FLOAT, 
	extra_credit FLOAT, 
	needs_manual_grade BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "grade" VALUES('e5f5d15c47c94207bd42add6fd92bba5','3ae39f05c9f74dc082af18df407f685c','b742a4f8bd9b49f2999e0c7053e34b9e',1.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('3be696b46c4847b7b9c5558d53163287','3ae39f05c9f74dc082af18df407f685c','78a536c80ae2458e92a330345ded74b7',2.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('ebc3617193e5499e964e494401de2645','3ae39f05c9f74dc082af18df407f685c','120b53865fcf4db182c6ccde3f018b49',2.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('eb7573a1dd82467189c47faa96cafab7','3ae39f05c9f74dc082af18df407f685c','1755122717be407a8e0f59ed0792c107',3.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('bec752e876b34c2ca9ba25b82bf4355e','3ae39f05c9f74dc082af18df407f685c','482834b2b9034eeeb3a7ae360dee0d1f',2.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('010b402fd7694765bde0a82f95882b12','3ae39f05c9f74dc082af18df407f685c','7edd79003f474473bbe6c52cb0395655',3.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('477251d1db2943a08d7edf340999d34a','3ae39f05c9f74dc082af18df407f685c','22f808b0fdfb4354ab2b06be8eef2400',4.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('fae76ebc2ada4ad99c1739dab690e853','3ae39f05c9f74dc082af18df407f685c','b824046c3b4d4463b42190808fed9a7c',4.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('6de4d45200e54ca9a5bac2689728aa7b','3ae39f05c9f74dc082af18df407f685c','17f759778755459c88d34ec8eb2787cb',NULL,3.0,NULL,0);
CREATE TABLE grade_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "grade_cells" VALUES('b742a4f8bd9b49f2999e0c7053e34b9e',2.0,'code');
INSERT INTO "grade_cells" VALUES('78a536c80ae2458e92a330345ded74b7',2.0,'code');
INSERT INTO "grade_cells" VALUES('120b53865fcf4db182c6ccde3f018b49',2.0,'code');
INSERT INTO "grade_cells" VALUES('1755122717be407a8e0f59ed0792c107',3.0,'code');
INSERT INTO "grade_cells" VALUES('482834b2b9034eeeb3a7ae360dee0d1f',2.0,'code');
INSERT INTO "grade_cells" VALUES('7edd79003f474473bbe6c52cb0395655',3.0,'code');
INSERT INTO "grade_cells" VALUES('22f808b0fdfb4354ab2b06be8eef2400',4.0,'code');
INSERT INTO "grade_cells" VALUES('b824046c3b4d4463b42190808fed9a7c',4.0,'code');
INSERT INTO "grade_cells" VALUES('17f759778755459c88d34ec8eb2787cb',4.0,'markdown');
CREATE TABLE notebook (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	assignment_id VARCHAR(32), 
	kernelspec VARCHAR(1024), 
	PRIMARY KEY (id), 
	UNIQUE (name, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);
INSERT INTO "notebook" VALUES('c53189f13ed74521aa0ee9e6f0a7b360','ps1','caaf50f89216497fbb77ad4b9a422b52','{"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}');
CREATE TABLE roofkit_notes (
	name VARCHAR(200) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "roofkit_notes" VALUES('registered ps1','{"hash": "1c6f8b895ffe74e2a2b74f2505bf95a6bb1f55bba07cfba1d85e8e21376ce062"}');
INSERT INTO "roofkit_notes" VALUES('saved 0be67481e3ad4e49bb5401c4d6683c62','{"hash": "da8419425f1eda4353355767fb687e09ea45fda229cea676b72e30e74d29e0a5", "cells": {"ps1-ridge-check": "95246108b20d214364f940489a07dc705690dbe96238fbfe18906c64cc4deb0e", "ps1-time-check": "7e9ac33e5b8dafc4ca132349cb0a0108000cc78d7d40a363f343f896b69107fb", "ps1-bound-check": "a055a1352ce4dd28818797f2039622ef7dbed3ccf2a53c92f819eaaf5c568a83", "ps1-order-check": "94c79cde63801811b2aca9bd9b91648a622ad1bc4fb0d2fd5bc942e03d71cb9a", "ps1-chain-check": "6c4354554c72e62de482c8ced1dc480928c5e7e2e9f9d5a367fc22fa8d78a54b", "ps1-mine-check": "3018bf73a297e70f467bd2b95b0cd96347cb1f487620999cb44640a1f089358d", "ps1-attainable-check": "2fabd17ff12844c1de677c13c48d52550b976ec88e0975cbe817e0ae7af9f90e", "ps1-bracket-check": "7ae7e21a1d3e1d39e1a5e1fd3efd95d9f90c9aa0cbc92f381bc42903795fc08e", "ps1-paragraph": "44ff0687b0b931b57db9102e82e755a3eea11785d5257e97bb34f234d7b76130"}}');
CREATE TABLE solution_cells (
	id VARCHAR(32) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "solution_cells" VALUES('5cabe3a7176a468ca2f194092d59ac84');
INSERT INTO "solution_cells" VALUES('1bf2fd592e8e4534bc4b81229df014eb');
INSERT INTO "solution_cells" VALUES('78be934222eb4728ad25c76af6e41708');
INSERT INTO "solution_cells" VALUES('2e1f04b48128409f9f479d0bb4e7500e');
INSERT INTO "solution_cells" VALUES('6b49b0f635e540dcab4a3a228eeb9d7e');
INSERT INTO "solution_cells" VALUES('47f0cd2cfa0346ac947f3f275454c1b7');
INSERT INTO "solution_cells" VALUES('c46749d028594546bad22c8180c376da');
INSERT INTO "solution_cells" VALUES('d60f91519162445a85beb5b57caf6bad');
INSERT INTO "solution_cells" VALUES('fa4cb4c5f12644e596a5f6720159fb4d');
INSERT INTO "solution_cells" VALUES('17b6e0930ecc4bb8a270d926e88f2bf7');
CREATE TABLE source_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	locked BOOLEAN NOT NULL, 
	source TEXT, 
	checksum VARCHAR(128), 
	notebook_id VARCHAR(32), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "source_cell" VALUES('6680041687f64a7e97fcb8a0e22bfe02','ps1-title','markdown',1,'# Problem set 1: time, intensity, ridge

On lectures 1 and 2. Eight questions are checked at once, on your machine; the ninth is a paragraph that a person reads. Total: 26 points. Allow an hour and a quarter.

*This notebook needs Python 3.11 or later, `roofkit` and `roofcheck`, the packages that come with the course. If the first code cell says `No module named ''roofcheck''` or `''roofkit''`, open the notebook from the course''s folder (`python3 start.py` there), or install the wheels that lie in it:* `%pip install roofkit-0.1.0-py3-none-any.whl roofcheck-0.1.0-py3-none-any.whl`.','77a892d78c62fb2a39d5e6e553e77941','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('db4a018420414e0e910775345781f4d8','ps1-how','markdown',1,'Replace each `...` with your answer and run the cell, then the check below it. A number may come as text with its unit, such as `"1.5 ms"`. Check as often as you like; a check names the mistake it recognises, and helps on repeated tries. Do not edit the check cells. Before you hand in, restart the kernel and run all cells: what counts is the notebook run from the top. What the checks compare with lies on your machine too, in `roofkit`; where it counts, functions meet other arguments.','dd05de7fc9ca1aee57c25b9afc9cefbf','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('2feb4af0ec2542fcb67bbd8c4120a897','ps1-setup','code',1,'import roofkit as rk
from roofcheck import ask, check, progress','4e47f2086f1a233be7615fadc57b4f47','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('7bfb45b34cf9457ca4fc7ac124a860ca','ps1-me-text','markdown',1,'Question 6 has figures of your own. They follow from your id, the one that you hand in under; put it here as text.','14036a1c2d94a7c6bcfd7dc3670a532e','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('14079c9c472449b3a1031c8846f0d3e5','ps1-me','code',0,'me = ...
# YOUR CODE HERE','36ce0f5509ed90def97fe7dec4ade419','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('57daf8354cf0465fa16c645e0b53dab9','ps1-ridge-text','markdown',1,'## 1. A specification (2 points)

An RTX A6000 is specified with 309.7 TFLOP/s of bf16 tensor performance *with sparsity*, 38.7 TFLOP/s in fp32, and 768 GB/s of memory bandwidth. What is its ridge for dense bf16 matrices, in FLOP/byte?','c08dcc4d2d5ab77cd5334048a2664e59','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('3f1ab43a862540fab738c94c9e4e9687','ps1-ridge','code',0,'ridge = ...
# YOUR CODE HERE','460a869bfc7e66247477e2c4da091d20','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('d8c7df035e0b4fb098a32e2d2d38540f','ps1-ridge-check','code',1,'check("ps1.ridge", ridge)','6b88a82a07cbbba951c6453f1ec23baf','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('bbb2424ef0fd45c088688d8077856ce4','ps1-time-text','markdown',1,'## 2. A layer on an H200 (2 points)

A layer takes 4.0 · 10¹¹ bf16 FLOPs and moves 2.4 · 10⁹ bytes. The H200 has the H100''s arithmetic and faster memory; `rk.chip("H200")` has its figures. With full overlap of moving and computing, how many **microseconds** does the layer take?','b7ff9ae102a71ee54e6020d305f201e1','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('0facdae8ab384de9b052cbc0e406e4b9','ps1-time','code',0,'time_us = ...
# YOUR CODE HERE','34be8f7b397cb530a8c85e08fc38df37','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('2b18a00df99b447eb605d468c36b1f76','ps1-time-check','code',1,'check("ps1.time", time_us)','f9825c0ae483d284f6b710649175845b','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('bed0f440528745709c1ee509bb20ffa4','ps1-bound-text','markdown',1,'## 3. Which roof? (2 points)

A bf16 kernel of intensity 250 FLOP/byte runs on one H200 and is measured at 40% of the card''s peak. Under which roof does it stand: `"compute"`, `"memory"`, `"network"` or `"cannot tell"`?','17140fd95b912fed3d055d249c6294d2','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('7a36951d629f43d896c190660c4de2a4','ps1-bound','code',0,'bound = ...
# YOUR CODE HERE','b2ff272c3458f8e3c53f04d5c96868d5','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('87063082c08a4b1bb428cfc55511f9e9','ps1-bound-check','code',1,'check("ps1.bound", bound)','7ebd643388f24d4ad247ab50df8de4a2','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('9db6fd4a4d30422b80c1b4c2cecb8985','ps1-order-text','markdown',1,'## 4. Which is easiest to keep busy? (3 points)

Order these chips by their bf16 ridge, lowest first: `"H100 SXM"`, `"TPU v5e"`, `"A100 80GB SXM"`, `"TPU v6e"`, `"A100 40GB SXM"`. Compute the ridges and let Python sort; hand in a list of names.','70f29dbf33592e320d5f37d4ffcdd20b','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('21110a37c91a4e6f9681e312ef95f707','ps1-order','code',0,'names = ["H100 SXM", "TPU v5e", "A100 80GB SXM", "TPU v6e", "A100 40GB SXM"]
lowest_first = ...
# YOUR CODE HERE','e172821e9790e38f0184d891f99cdfd4','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('0525c6a40495499e99f26ec7056c53ad','ps1-order-check','code',1,'check("ps1.order", lowest_first)','1cd9d07c84887d5a9c588878d69acd08','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('e7575ba9c2b744fd880069585b706b8b','ps1-chain-text','markdown',1,'## 5. Why the two comparisons agree (2 points)

Compute-bound means that the arithmetic takes longer than the moving; lecture 2 compared the intensity with the ridge instead. These lines lead from one to the other, each with a single change to the line before. In which order?

- **A**: FLOPs / bytes > peak / bandwidth
- **B**: $T_\text{math} > T_\text{comms}$
- **C**: FLOPs > bytes · peak / bandwidth
- **D**: FLOPs / peak > bytes / bandwidth
- **E**: intensity > ridge

Hand in five letters, such as `"ABCDE"`.','f955a02b53c8333c9e76d0402ef33c85','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('4bd2805aec484b05a14e3ad5ed52ade6','ps1-chain','code',0,'chain = ...
# YOUR CODE HERE','d1440be5be605cb0836d567dec91e3dd','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('f3865fd2169b4470a6c2528d563759f2','ps1-chain-check','code',1,'check("ps1.chain", chain)','154abd10b47c96b9cc5c564a1b40defa','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('08c15e44f2a64d8097adbbcf00f154bd','ps1-mine-text','markdown',1,'## 6. What overlap saves (3 points)

A layer computes and moves. The cell below says how much, with figures of your own; `given.flops`, `given.moved` and `given.chip` hold them. Answer in **microseconds**.','94ecf703e10cfc5b7cb5a7d60a18243b','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('e893a2c55b5e4fb0bb28a0d78cfd2976','ps1-mine-given','code',1,'given = ask("ps1.mine", me)
given','f36af2ed0f3daba6b73784e37dbce648','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('d6e0c049b2e34560b8c318676a59284f','ps1-mine','code',0,'saved_us = ...
# YOUR CODE HERE','c19484aed34a4f288eec33b8de796c4e','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('414c133bad7d493a94e689f374b882f7','ps1-mine-check','code',1,'check("ps1.mine", saved_us, me)','d962b5108a21db5923acdba7428a6a50','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('7e632c6a86f3488a918ac85281e35d18','ps1-attainable-text','markdown',1,'## 7. The roof as a function (4 points)

Write the roofline: the most FLOP/s that a computation of a given intensity (FLOP/byte) can reach on a machine of given peak (FLOP/s) and bandwidth (byte/s). For practice, without `rk`. All inputs are single numbers above 0.','6ca2a1781081098c4722913544d7cf28','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('373d586c060f497e9a313750811a1815','ps1-attainable','code',0,'def attainable(intensity, peak_flops, bandwidth):
    ...
    # YOUR CODE HERE','98296ea2d742354b4badd2ed4a317098','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('a17159310f384248accaa9c880f635f0','ps1-attainable-check','code',1,'check("ps1.attainable", attainable)','67360b938326c9ddbfe3440efd322423','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('5e6f72b3fbef422bac026381cd0d6011','ps1-bracket-text','markdown',1,'## 8. The bracket as a function (4 points)

Write a function that returns two times in seconds: first the time with full overlap of computing and moving, then the time with none. All inputs are single numbers above 0.','cb6082d2ff2f3927fd2326304aece638','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('2ee0cc5e167845e7b9568775b9061389','ps1-bracket','code',0,'def bracket(flops, bytes_moved, peak_flops, bandwidth):
    ...
    # YOUR CODE HERE','a1527cb9925aecca309b3c39272f6bad','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('57bd9a512d5141499ef5bbb307f0eddd','ps1-bracket-check','code',1,'check("ps1.bracket", bracket)','5579985ee75cfb1d43a94b6c116346b7','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('2c8a700d74ee479d854a93c6609a2cbe','ps1-progress','code',1,'progress("ps1")','ddde079909e5bf22cb4e8821d01a877b','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('a84b3866c86b41eaadbb26da1b6e0299','ps1-paragraph-text','markdown',1,'## 9. A claim (4 points, read by a person)

A colleague writes: *"Our kernel reaches a quarter of the peak, so it must be memory-bound. Let us buy the card with the faster memory."* In four to six sentences: which two numbers say whether it is memory-bound, how do you get them, and what else must you compare before you buy?','7aa02884c8586b4574ede7746ab40a8f','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('dc879aad47094c28aae1731d8144f5a1','ps1-paragraph','markdown',0,'YOUR ANSWER HERE','1f84f0f1bece59ee7ac92914ecabffcc','c53189f13ed74521aa0ee9e6f0a7b360');
INSERT INTO "source_cell" VALUES('def68174b7f34f0ea10414c17af10c63','ps1-paragraph-rubric','markdown',1,'How this is marked: one point each for intensity and ridge and where they come from; for what their comparison decides; for comparing the measured speed with intensity · bandwidth; for what the other card would reach, or a profile, before you buy.

### BEGIN MARK SCHEME

- **The two numbers, 1 point:** the kernel''s intensity, FLOPs over bytes moved, counted or from a profiler, and the card''s ridge, dense peak over memory bandwidth. Named without where they come from: half a point.
- **What they decide, 1 point:** below the ridge memory-bound, above it compute-bound; the share of peak has no part in this. Only "a quarter of peak does not prove it": half a point.
- **The measurement beside the slope, 1 point:** near intensity times bandwidth, the kernel does what its memory allows; far below, something else is lost first, such as launches or repeated reads.
- **Before buying, 1 point:** what the other card would reach at this intensity: faster memory helps a kernel that lies near the slope, up to the new card''s ridge; above the ridge it buys nothing. Or a profile, and what is looked for in it. The price compared instead, or "measure first" alone: half a point.
- Wrong turns: T_math and T_comms in place of intensity and ridge (as good, full points); the sparse peak in the ridge (half a point off the first); "memory-bound, because a quarter is so little" (no point for the second).

**A model answer:**

The share of peak does not decide which roof the kernel is under. Two numbers do: its intensity, FLOPs over bytes moved, counted from shapes and dtypes, or better from a profiler''s byte counter, since repeated reads lower it; and the card''s ridge, dense peak over memory bandwidth, from its data sheet. If the intensity is below the ridge, the kernel is under the memory''s slope: attainable speed is intensity times bandwidth. Then compare the measurement with that slope: near it, faster memory raises the speed in proportion, up to the new ridge; far below it, something else is lost first, such as launches. If the measured intensity is above the ridge, faster memory buys nothing: the missing three quarters are in the kernel, not in the card.

### END MARK SCHEME','cee12c3af3bee54985073e56fb47fd99','c53189f13ed74521aa0ee9e6f0a7b360');
CREATE TABLE student (
	id VARCHAR(128) NOT NULL, 
	first_name VARCHAR(128), 
	last_name VARCHAR(128), 
	email VARCHAR(128), 
	lms_user_id VARCHAR(128), 
	PRIMARY KEY (id)
);
INSERT INTO "student" VALUES('lou','Lou','None','lou@x.edu',NULL);
INSERT INTO "student" VALUES('bob',NULL,NULL,NULL,NULL);
CREATE TABLE submitted_assignment (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	student_id VARCHAR(128), 
	timestamp DATETIME, 
	extension DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (assignment_id, student_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id), 
	FOREIGN KEY(student_id) REFERENCES student (id)
);
INSERT INTO "submitted_assignment" VALUES('0be67481e3ad4e49bb5401c4d6683c62','caaf50f89216497fbb77ad4b9a422b52','bob',NULL,NULL);
CREATE TABLE submitted_notebook (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	notebook_id VARCHAR(32), 
	flagged BOOLEAN, 
	late_submission_penalty FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (notebook_id, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES submitted_assignment (id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "submitted_notebook" VALUES('3ae39f05c9f74dc082af18df407f685c','0be67481e3ad4e49bb5401c4d6683c62','c53189f13ed74521aa0ee9e6f0a7b360',0,NULL);
CREATE TABLE task_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
CREATE INDEX roofkit_grade on grade (notebook_id);
CREATE INDEX roofkit_comment on comment (notebook_id);
CREATE INDEX roofkit_submitted_notebook on submitted_notebook (assignment_id);
CREATE INDEX roofkit_submitted_assignment on submitted_assignment (student_id);
COMMIT;
